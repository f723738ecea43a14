"""What can be checked of GPU runs without a GPU: every policy compiles for one."""

import types
import warnings

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.core import Goal
from mfbandit.gpu import DeviceError, device_entry, shape_of
from mfbandit.kernel import unfused
from mfbandit.rewards import law_arrays
from mfbandit.trials import prepare

pytest.importorskip("numba_cuda", reason="needs numba-cuda: pip install 'mfbandit[cuda]'")
from numba import cuda


def toolkit() -> bool:
    """Whether NVIDIA's compiler library is installed."""
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception:
        return False
    return True


def gpu() -> bool:
    try:
        return bool(cuda.is_available())
    except Exception:
        return False


@pytest.mark.skipif(gpu(), reason="there is a GPU here")
def test_without_a_gpu_there_is_one_clear_sentence():
    with pytest.raises(DeviceError, match="device 'cuda' needs an NVIDIA GPU with its driver"):
        mf.simulate("figure-1a", "lucb-c", trials=1, device="cuda")


def ptx(instance, policy):
    """The GPU's assembly text of a simulation."""
    import numba

    goal = Goal(budget=100.0) if policy.objective == "regret" else Goal()
    ready = prepare(instance, policy, goal, None, 100)
    shape = shape_of(instance, ready.algorithm, ready.problem.cost.shape[1])
    entry = device_entry(instance, ready.algorithm, shape)
    cells = instance.means.shape
    results = (
        np.zeros(2),
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros((2, *cells), dtype=np.int64),
        np.zeros(0),
        np.zeros((2, 0, *cells), dtype=np.int64),
        np.zeros((2, 0), dtype=np.int64),
        np.zeros((2, 0, 3), dtype=np.int64),
    )
    arguments = (ready.problem, ready.algorithm.params, law_arrays(instance), ready.limits, 3, 0, 0, *results)
    signature = numba.void(*(numba.typeof(argument) for argument in arguments))
    with unfused():
        text, _ = cuda.compile_ptx(entry.py_func, signature, cc=(8, 0))
    return text


@pytest.mark.slow
@pytest.mark.skipif(not toolkit(), reason="needs NVIDIA's compiler: pip install 'mfbandit[cuda]' 'numba-cuda[cu13]'")
@pytest.mark.parametrize("name", REGISTRY)
def test_every_policy_compiles_for_a_gpu(name, monkeypatch):
    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: types.SimpleNamespace(compute_capability=(8, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = ptx(mf.load_instance("loose-prior"), mf.policy(REGISTRY[name].example))
    assert ".entry" in text


def test_the_state_of_a_thread_is_small():
    instance = mf.load_instance("figure-1a")
    ready = prepare(instance, mf.policy("lucb-c"), Goal(), None, None)
    assert shape_of(instance, ready.algorithm, 3).bytes < 512
