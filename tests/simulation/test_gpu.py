"""What can be checked of GPU runs without a GPU: what is launched, and that every policy compiles for one."""

import types
import warnings

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.core import Goal
from mfbandit.kernel import bind
from mfbandit.simulation._trials import Simulation, Simulator, prepare
from mfbandit.simulation.gpu import _launch as gpu
from mfbandit.simulation.gpu._gpu_kernels import compile_kernel, gpu_replacements
from mfbandit.simulation.gpu._launch import DeviceError
from mfbandit.simulation.gpu._state_shape import shape_of

#: Trials of a block where each thread plays one.
BLOCK = 64


def many_arms(arms, law=None):
    """An instance of so many arms and three fidelities."""
    means = np.linspace(0.9, 0.1, arms)[:, None] + np.array([-0.05, 0.02, 0.0])
    problem = mf.Problem(arms, [("a", 1.0, 0.1), ("b", 2.0, 0.05), ("c", 5.0, 0.0)])
    return mf.Instance(problem, means, law or mf.BernoulliLaw())


def shaped(instance, name, marks=0):
    """A policy on an instance, made ready, and the shape of a thread's state."""
    policy = mf.policy(name)
    goal = Goal(budget=100.0) if policy.objective == "regret" else Goal()
    prepared = prepare(Simulation(instance, policy, goal, 0, max_pulls=100, marks=(1.0,) * marks))
    return prepared, shape_of(prepared)


# What is done otherwise on a GPU.


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # bounds of streams without a pull are nan there
@pytest.mark.parametrize("name", ["lucb-a:top=0.95,second=0.75", "lucb-c:bound=kl"])
def test_the_parts_that_a_gpu_swaps_change_no_bit(name):
    simulation = Simulation(mf.load_instance("figure-1a"), mf.policy(name), Goal(delta=0.2), 3, max_pulls=2_000)
    simulator = Simulator(simulation, "python")
    here, there = simulation.results(2), simulation.results(2)
    simulator.play(0, here)
    simulator.entry = bind(simulator.text, gpu_replacements(marked=False))
    simulator.play(0, there)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


# Launches, on a card that is not there.


class Card:
    """What of numba-cuda a launch uses, with the memory of the host, and a kernel that counts its trials."""

    def __init__(self, free):
        self.free, self.launches, self.used = free, [], 0

    def is_available(self):
        return True

    def current_context(self):
        return types.SimpleNamespace(get_memory_info=lambda: types.SimpleNamespace(free=self.free))

    def to_device(self, array):
        there = array.copy().view(Memory)
        self.used = max(self.used, there.nbytes)
        return there

    def device_array(self, shape, dtype):
        return np.zeros(shape, dtype).view(Memory)

    def __getitem__(self, launch):
        return lambda *arguments: self.run(launch, *arguments)

    def typeof_pyval(self, value):
        return type(value)

    def compile(self, types):
        return types and self

    def max_cooperative_grid_blocks(self, block):
        return 8

    def run(self, launch, *arguments):
        if len(arguments) == 3:  # keys of trials are made
            _, first, keys = arguments
            keys[:] = first + np.arange(len(keys))
            return
        _, keys, results, counter, counts, _ = arguments
        assert counter[0] == launch[0] * (1 if launch[1] == 32 else launch[1])
        self.launches.append((launch[0], len(keys), len(counts)))
        results.cost[:] = keys
        results.pulls[:] = 1


class Memory(np.ndarray):
    """Memory of the card."""

    def copy_to_host(self):
        return np.array(self)

    def copy_to_device(self, values):
        self[:] = values


@pytest.fixture
def card(monkeypatch):
    made = Card(free=10**12)
    monkeypatch.setattr(gpu, "require_gpu", lambda: made)
    monkeypatch.setattr(gpu, "compile_kernel", lambda *_: made)
    monkeypatch.setattr(gpu, "key_maker", lambda: made)
    return made


def played(instance, trials, first=0, name="lucb-c"):
    simulation = Simulation(instance, mf.policy(name), Goal(), 0)
    results, noted = simulation.results(trials), []
    Simulator(simulation, "cuda").play(first, results, lambda *done: noted.append(done))
    assert results.cost.tolist() == list(range(first, first + trials))
    assert sum(done for done, _ in noted) == trials
    assert sum(pulls for _, pulls in noted) == results.pulls.sum() == instance.means.size * trials
    return results


def test_a_launch_takes_as_many_blocks_as_run_at_a_time(card):
    played(many_arms(3), 3 * BLOCK + 1)
    played(many_arms(3), 100 * BLOCK, first=7)
    assert [(blocks, trials) for blocks, trials, _ in card.launches] == [(4, 3 * BLOCK + 1), (8, 100 * BLOCK)]


def test_launches_grow_while_they_are_quick(card, monkeypatch):
    monkeypatch.setattr(gpu, "_LAUNCH", 100)
    played(many_arms(3), 1000)
    assert [trials for _, trials, _ in card.launches] == [100, 200, 400, 300]
    monkeypatch.setattr(gpu, "_SECONDS", 0.0)
    card.launches.clear()
    played(many_arms(3), 300)
    assert [trials for _, trials, _ in card.launches] == [100, 100, 100]


def test_any_number_of_trials_fits_on_any_card(card):
    card.free = 30_000
    played(many_arms(3), 1000)
    assert len(card.launches) > 5
    assert card.used <= card.free


def test_the_states_of_many_arms_lie_in_global_memory_as_far_as_it_goes(card):
    instance = many_arms(2000)
    shape = shaped(instance, "lucb-c")[1]
    played(instance, 1000)
    assert card.launches[0] == (8, 1000, shape.counts * 8 * BLOCK)
    card.free = 3 * 2 * shape.bytes * BLOCK
    played(instance, 10)
    assert card.launches[-1][2] == shape.counts * BLOCK
    card.free = 2 * shape.bytes * BLOCK
    with pytest.raises(DeviceError, match=r"2000 arms need .* bytes for 64 trials at a time, .* use device='cpu'"):
        played(instance, 10)


@pytest.mark.parametrize(
    ("arms", "name", "place"),
    [
        (5, "lucb-c", "shared"),
        (30, "lucb-c", "local"),
        (300, "lucb-c", "global"),
        (15, "mf-toptwo", "shared"),
        (300, "mf-toptwo", "global"),
    ],
)
def test_where_the_state_of_a_trial_lies_depends_on_its_size(arms, name, place):
    assert shaped(many_arms(arms), name)[1].memory_space == place


@pytest.mark.parametrize(
    ("name", "by_warp"), [("mf-toptwo", True), ("mf-grad:threshold=ours", True), ("lucb-c", False)]
)
def test_a_warp_plays_a_trial_where_evidence_has_levels(name, by_warp):
    shape = shaped(many_arms(3), name)[1]
    assert shape.by_warp == by_warp
    assert (shape.block, shape.trials) == ((32, 1) if by_warp else (BLOCK, BLOCK))


def test_a_launch_of_warps_has_one_trial_per_block(card):
    played(many_arms(3), 3, name="mf-toptwo")
    played(many_arms(3), 100, name="mf-toptwo")
    assert [(blocks, trials) for blocks, trials, _ in card.launches] == [(3, 3), (8, 100)]


@pytest.mark.parametrize(("streams", "place"), [(1, "shared"), (60, "local"), (600, "global")])
def test_fidelities_that_are_not_used_take_place_too(streams, place):
    fidelities = [(f"cheap {m}", 1.0 + m, 0.5) for m in range(streams - 1)] + [("true", 1e4, 0.0)]
    means = np.full((40, streams), 0.4) + np.linspace(0.2, 0.0, 40)[:, None]
    instance = mf.Instance(mf.Problem(40, fidelities, reward="bernoulli"), means)
    assert shaped(instance, "lucb-top")[1].memory_space == place


def test_the_state_of_a_thread_is_small():
    assert shaped(mf.load_instance("figure-1a"), "lucb-c")[1].bytes < 512


# Machine code.

numba_cuda = pytest.importorskip("numba_cuda", reason="needs numba-cuda: pip install 'mfbandit[cuda]'")
from numba import cuda  # noqa: E402


def toolkit() -> bool:
    """Whether NVIDIA's compiler library is installed."""
    try:
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception:
        return False
    return True


def available() -> bool:
    try:
        return bool(cuda.is_available())
    except Exception:
        return False


needs_compiler = pytest.mark.skipif(not toolkit(), reason="needs NVIDIA's compiler: pip install 'mfbandit[cuda]'")


@pytest.mark.skipif(available(), reason="there is a GPU here")
def test_without_a_gpu_there_is_one_clear_sentence():
    with pytest.raises(DeviceError, match="device 'cuda' needs an NVIDIA GPU with its driver"):
        mf.simulate("figure-1a", "lucb-c", trials=1, device="cuda")


@pytest.fixture
def ptx(monkeypatch):
    """A function that gives the GPU's assembly text of a simulation."""
    import numba
    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: types.SimpleNamespace(compute_capability=(8, 0)))

    def text(instance, name, marks=0):
        prepared, shape = shaped(instance, name, marks)
        entry = compile_kernel(prepared, shape)
        results = Simulation(instance, mf.policy(name), Goal(), 0, marks=(1.0,) * marks).results(2)
        counts = (np.zeros(1, np.int64), np.zeros(1, np.int32))
        arguments = (prepared.setting, np.zeros(2, np.int64), results, *counts, np.zeros(1))
        signature = numba.void(*(numba.typeof(argument) for argument in arguments))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cuda.compile_ptx(entry.py_func, signature, cc=(8, 0))[0]

    return text


#: Policies that are compiled for states of another size, for rewards of another law or with marks: all others for a
#: state in shared memory and rewards of 0 and 1.
OTHERWISE = {
    "ucb-top": (5, mf.BetaLaw(4.0), 2, "shared"),
    "lucb-c": (30, None, 0, "local"),
    "elimination": (100, mf.BetaLaw(4.0), 0, "local"),
    "mf-ucb": (1000, None, 0, "global"),
}


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if not entry.kind.on_blocks])
def test_every_policy_compiles_for_a_gpu_and_states_of_all_sizes(name, ptx):
    instance, marks, memory, example = mf.load_instance("loose-prior"), 0, "shared", REGISTRY[name].example
    if name in OTHERWISE:
        arms, law, marks, memory = OTHERWISE[name]
        instance = many_arms(arms, law)
    assert shaped(instance, example, marks)[1].memory_space == memory
    text = ptx(instance, example, marks)
    assert ".entry" in text
    assert f"ld.{memory}" in text
    assert "mul.rn.f64" in text  # what pulls cost is not fused, so that a budget ends at the same pull
    # Threads of a warp wait for each other where they share loops, and tables are no branches.
    assert ("bar.warp.sync" in text) == ("vote.sync" in text) == (name == "mf-toptwo")
    if name == "mf-toptwo":
        assert "ld.const" in text
        assert text.count("setp") < 2_000
