// A study, live.
import { badge, enter, fill, listen, make, nameInAddress, nav, request, root, section, studyPath, svg, table } from "./common.js";
import { Chart, drawBounds, drawConfidence } from "./charts.js";
import { amount, count, duration, floored, shown } from "./format.js";

const DRAWN = 5;
const BELOW_ZERO = "An arm can be shown not to be the best although its bounds reach below 0: these hold for all pairs of arms at once, which takes more evidence.";
const OVERLAP = "An arm can be shown not to be the best although its bounds overlap those of the best: all results of two arms together prove more than the bounds of each.";
const main = document.getElementById("main");
const name = nameInAddress("study");
const said = make("span", { class: "status", role: "status" });
const parts = Object.fromEntries(["head", "wrong", "race", "out", "heat", "spent", "people"].map((part) => [part, make("div", {})]));
const confidence = new Chart({ x: "cost spent", label: "confidence", y: { range: [0, 1.04] } });
const bounds = new Chart({ x: "cost spent", label: "" });
const boundsText = make("p", {});
let moments = [];
let study = null;
let ahead = 0; // how far the server's clock is ahead of this one

function label(text, widest = 200) {
  return make("span", { class: "name clip", title: text.length > 60 ? text : null }, make("bdi", {}, shown(text, widest)));
}

function kicker(found) {
  return make("p", { class: "kicker" }, "Study ", make("bdi", { class: "name" }, shown(found.study, 200)), " ", found.status ? badge(found.status) : null);
}

function row(tiles) {
  return make("dl", { class: "tiles" }, ...tiles.map(([title, value]) => make("div", {}, make("dt", {}, title), make("dd", {}, make("bdi", {}, value)))));
}

/** What is known before arms are compared: of a small study nothing, of a large one what its log says at once. */
function first(found) {
  if (found.pulls === undefined) {
    fill(parts.head, kicker(found), make("h1", {}, "It is being opened…"));
    return;
  }
  const tiles = [
    ["confidence", "computing…"],
    ["cost", amount(found.cost)],
    ["pulls", count(found.pulls)],
    ["arms", count(found.n_arms)],
  ];
  fill(parts.head, kicker(found), make("h1", {}, `${count(found.n_arms)} arms are being compared…`), row(tiles), make("p", {}, "Confidence and bounds follow in a moment; what was pulled is known already."));
  if (found.arms) heat(found, "The arms with the highest means at the truest fidelity so far: the mean of the rewards, and how many there are.");
}

function head() {
  const [low, high] = study.rewards;
  const span = low === null || high === null ? Infinity : high - low;
  const tiles = [
    ["best", study.best === null ? "none yet" : shown(study.best, 40)],
    ["confidence", study.best === null ? "-" : floored(study.confidence)],
    ["cost", amount(study.cost) + (study.limit === null ? "" : ` of ${amount(study.limit)}`)],
    ["pulls", count(study.pulls)],
    ["to go", study.remaining_cost === null ? "-" : `about ${amount(study.remaining_cost, 2)}`],
    ["in the race", `${count(study.n_left)} of ${count(study.n_arms - study.n_retired)}`],
  ];
  fill(
    parts.head,
    kicker(study),
    make("h1", {}, study.sentence),
    row(tiles),
    study.regret_bound === null || study.best === null || study.regret_bound >= span ? null : make("p", {}, `No arm is better${study.regret_bound > 0 ? ` by more than ${amount(study.regret_bound)}` : ""}, with probability ${amount(study.wanted)}, whenever you look.`),
    study.waits ? make("p", {}, `Nothing can be handed out now: ${study.waits}.`) : null,
  );
}

function sentences(title, found) {
  if (!found.length) return null;
  return make("section", { class: "wrong" }, make("h2", {}, title), make("ul", {}, ...found.map((one) => make("li", {}, `${one.slice(0, 1).toUpperCase()}${one.slice(1)}.`))));
}

function wrong() {
  const failed = study.failures.map((one) => ({ cells: [String(one.pull), label(one.arm), label(one.fidelity), label(one.reason, 400), count(one.times)] }));
  fill(
    parts.wrong,
    sentences("The data contradict the model", study.violations),
    sentences("What failed", study.reasons),
    failed.length ? section("Failures that are tried again", study.n_failures > failed.length ? `The latest ${failed.length} of ${count(study.n_failures)}.` : "", table(["pull", "arm", "fidelity", "why", "times"], failed, [1, 1, 1, 1], "failures")) : null,
  );
}

/** One bar of a scale from `low` to `high`. */
function bar(ends, scale, kind, mean) {
  const [low, high] = scale;
  const at = (value) => 2 + (96 * (Math.min(high, Math.max(low, value ?? 0)) - low)) / (high - low || 1);
  const children = [];
  if (low < 0 && high > 0 && study.on_blocks) children.push(svg("line", { class: "zero", x1: `${at(0)}%`, x2: `${at(0)}%`, y1: 0, y2: "100%" }));
  children.push(svg("line", { class: `bar ${kind}`, x1: `${at(ends[0] ?? low)}%`, x2: `${at(ends[1] ?? high)}%`, y1: "50%", y2: "50%" }));
  if (mean !== null && mean !== undefined) children.push(svg("circle", { class: "dot", cx: `${at(mean)}%`, cy: "50%", r: 4 }));
  return svg("svg", { class: "bars", role: "img", "aria-label": `${amount(ends[0])} to ${amount(ends[1])}` }, ...children);
}

function race() {
  const blocks = study.on_blocks;
  const truth = study.fidelities.findIndex((one) => one.truth);
  const ends = (arm) => (blocks ? arm.ahead : [arm.low, arm.high]);
  const shownArms = study.arms.filter((arm) => arm.retired === null);
  const numbers = shownArms.flatMap((arm) => [...(ends(arm) ?? []), blocks ? 0 : arm.means[truth]]).filter((one) => one !== null && one !== undefined);
  const scale = [Math.min(...numbers, ...(numbers.length ? [] : [0])), Math.max(...numbers, ...(numbers.length ? [] : [1]))];
  const rows = study.arms.map((arm) => {
    const found = arm.retired === null ? ends(arm) : null;
    const verdict = arm.retired !== null ? `given up: ${arm.retired}` : arm.verdict !== undefined ? arm.verdict : arm.best ? (study.status === "certified" ? "best" : "leads") : arm.left ? "in the race" : "out of the race";
    const picture = make("td", { class: "bars" }, found ? bar(found, scale, arm.best ? "mine" : blocks && found[0] > 0 ? "sure" : "", blocks ? null : arm.means[truth]) : "");
    return { kind: arm.best ? "best" : arm.left ? null : "gone", cells: [label(arm.arm), label(verdict, 120), picture, amount(found?.[0]), amount(found?.[1])] };
  });
  const more = study.n_arms - study.arms.length;
  // The report says the same: it puzzles whoever sees a certificate beside it.
  const belowZero = blocks && study.arms.some((arm) => !arm.best && !arm.left && arm.ahead && arm.ahead[0] <= 0);
  const leader = study.arms.find((arm) => arm.best);
  const overlap = !blocks && leader && study.arms.some((arm) => !arm.left && arm.retired === null && arm.high >= leader.low);
  const text = blocks
    ? `By how much the leader is ahead of each arm, at least and at most. All of it holds at once with probability ${amount(study.wanted)}.${belowZero ? ` ${BELOW_ZERO}` : ""}`
    : `Bounds of the true means; dots are means by the truest fidelity. All of it holds at once with probability ${amount(study.wanted)}.${overlap ? ` ${OVERLAP}` : ""}`;
  fill(parts.race, section("Who is still in the race", text, table(blocks ? ["arm", "", "the leader is ahead by", "at least", "at most"] : ["arm", "", "true mean", "at least", "at most"], rows, [1, "text spare", "left"], "arms"), more > 0 ? make("p", {}, `${count(more)} more arms, which are further from being the best, are not shown.`) : null));
}

function heat(study, text) {
  const most = Math.max(1, ...study.arms.flatMap((arm) => arm.pulls));
  const rows = study.arms.filter((arm) => arm.pulls.length).map((arm) => {
    const cells = arm.pulls.map((pulls, column) => {
      const mean = arm.means[column];
      const cell = make("td", { class: "heat" }, pulls ? `${mean === null ? "-" : amount(mean)} ` : "–", pulls ? make("small", {}, count(pulls)) : "");
      cell.style.setProperty("--heat", pulls ? (0.08 + 0.47 * (Math.log1p(pulls) / Math.log1p(most))).toFixed(3) : 0);
      return cell;
    });
    return { kind: arm.best ? "best" : null, cells: [label(arm.arm), ...cells] };
  });
  const headings = ["arm", ...study.fidelities.map((one) => label(one.name, 60))];
  const total = study.fidelities.reduce((sum, one) => sum + one.cost, 0);
  const spent = study.fidelities.map((one) => ({ cells: [label(one.name), one.truth ? "the truth" : "", count(one.pulls), amount(one.cost), total && one.cost !== null ? `${Math.round((100 * one.cost) / total)}%` : "-"] }));
  fill(parts.heat, section("Pulls by arm and fidelity", text, table(headings, rows, [1], "pulls")));
  fill(parts.spent, section("What was spent where", "", table(["fidelity", "", "pulls", "cost", "share"], spent, [1, 1], "cost by fidelity")));
}

function out() {
  const now = Date.now() / 1000 + ahead;
  const rows = study.out.map((one) => ({ cells: [String(one.pull), label(one.arm), label(one.fidelity), label(one.by || "-", 80), one.since === null ? "-" : duration(Math.max(0, now - one.since))] }));
  const more = study.n_out - rows.length;
  fill(parts.out, section("Out now", rows.length ? "Pulls that are being evaluated, the longest first." : "No pull is being evaluated.", rows.length ? table(["pull", "arm", "fidelity", "by", "since"], rows, [1, 1, 1, 1], "out now") : null, more > 0 ? make("p", {}, `${count(more)} more are out.`) : null));
}

function charts() {
  pictures.hidden = study.pulls === 0;
  if (!moments.length || pictures.hidden) return;
  drawConfidence(confidence, [{ label: study.study, moments, wanted: study.wanted }]);
  const drawn = study.arms.filter((arm) => arm.retired === null && !(study.on_blocks && arm.best)).slice(0, DRAWN);
  boundsText.textContent = study.on_blocks ? "By how much the leader was ahead of the closest arms." : "Bounds of the true means of the closest arms.";
  drawBounds(bounds, moments, drawn);
}

function certificate() {
  const verdict = make("p", { role: "status" });
  const button = make("button", { id: "verify" }, "Verify");
  button.addEventListener("click", async () => {
    button.disabled = true;
    verdict.textContent = "Checking…";
    try {
      const found = await request(studyPath(name, "/verify"));
      verdict.replaceChildren(make("b", {}, found.valid ? "Verified: " : "Not proven: "), found.valid ? found.claim : found.reasons.join("; "));
    } catch (error) {
      verdict.textContent = error.message;
    }
    button.disabled = false;
  });
  const link = make("a", { href: root + studyPath(name, "/certificate"), download: "certificate.json" }, "certificate.json");
  return section("The certificate", "It holds all numbers that prove the answer so far; anybody can check them again.", make("div", { class: "row" }, button, link), verdict);
}

let looked = 0;
async function people() {
  if (!me.owner || !study.by_people || Date.now() - looked < 3000) return;
  looked = Date.now();
  const found = await request(`/api/grade/${encodeURIComponent(name)}/owner`).catch(() => null);
  if (!found) return;
  const rows = found.people.map((one) => ({ cells: [label(one.person), count(one.grades), amount(one.mean)] }));
  const pairs = found.pairs.map((one) => ({ cells: [label(one.people.join(" and ")), count(one.both), count(one.same), amount(one.mean_difference)] }));
  fill(
    parts.people,
    section(
      "People who grade",
      found.there.length ? `There now: ${found.there.join(", ")}.` : "Nobody is there now.",
      make("p", {}, "Give people this link; it lets them grade, and see nothing else: ", make("a", { href: root + found.link, id: "grade-link", class: "name" }, shown(`${location.origin}${root}${found.link}`, 300))),
      rows.length ? table(["person", "grades", "mean"], rows, [1], "people") : null,
      pairs.length ? table(["who graded the same", "both", "said the same", "mean difference"], pairs, [1], "agreement") : rows.length ? make("p", {}, "Nothing was graded by two people yet.") : null,
    ),
  );
}

function show(found) {
  study = found;
  ahead = found.now - Date.now() / 1000;
  const last = moments[moments.length - 1];
  if (last && last.cost >= found.moment.cost) moments[moments.length - 1] = found.moment;
  else moments.push(found.moment);
  document.title = `${shown(found.study, 60)} · mfbandit`;
  for (const part of [head, wrong, race, out, charts, people]) part();
  heat(study, "The mean of the rewards, and how many there are; the stronger the colour, the more.");
}

const me = await enter(main);
const pictures = make(
  "div",
  { hidden: true },
  section("How sure it became", "The confidence that the leading arm is the best, as the study saw it at the time.", confidence.element),
  make("section", {}, make("h2", {}, "Bounds against what was spent"), boundsText, bounds.element),
);
main.replaceChildren(
  nav(make("a", { href: `${root}/` }, "all studies"), make("span", { class: "space" }), said),
  parts.head, parts.wrong, parts.race, pictures, parts.heat, parts.spent, parts.out, parts.people, certificate(),
);
listen(studyPath(name, "/events"), {
  moments: (found) => {
    moments = found;
    if (study) charts();
  },
  first: (found) => {
    if (study) {
      // Between two looks at many arms: what is known at once.
      if (found.pulls > study.pulls) {
        Object.assign(study, { cost: found.cost, pulls: found.pulls });
        head();
      }
      return;
    }
    first(found);
  },
  study: show,
  trouble: (found) => (said.textContent = found.error),
}, (sentence) => (said.textContent = sentence), [studyPath(name)]);
setInterval(() => study && out(), 1000);
