// All studies of a storage, and how those that are chosen compare.
import { badge, enter, fill, listen, make, nav, root, studyPath, table } from "./common.js";
import { Chart, drawConfidence } from "./charts.js";
import { amount, count, duration, floored, shown } from "./format.js";

const MOST_COMPARED = 6;
const main = document.getElementById("main");
const said = make("p", { class: "status", role: "status" });
const list = make("div", {});
const beside = make("section", { hidden: true }, make("h2", {}, "Side by side"), make("p", {}, "The confidence of the studies you have chosen against what they have cost."));
const chart = new Chart({ x: "cost", label: "confidence", y: { range: [0, 1.04] } });
beside.append(chart.element);
const chosen = new Map();
let studies = null; // not known before the server has told

function line(study) {
  const link = make("a", { href: `${root}/study/${encodeURIComponent(study.study)}`, class: "name clip" }, make("bdi", {}, shown(study.study, 200)));
  const box = make("input", { type: "checkbox", "aria-label": `compare ${shown(study.study)}`, checked: chosen.has(study.study), "data-study": study.study });
  if (study.status === undefined || study.status === "unreadable") {
    return { cells: [make("span", {}), link, study.status ?? "is being opened…", "", "", "", "", ""] };
  }
  const sure = study.best === null ? "-" : floored(study.confidence);
  const rest = study.remaining_cost === null ? "-" : `about ${amount(study.remaining_cost, 2)}`;
  const ago = study.active === null ? "-" : `${duration(Math.max(0, Date.now() / 1000 - study.active))} ago`;
  return { cells: [box, link, badge(study.status), make("span", { class: "name clip" }, make("bdi", {}, study.best === null ? "-" : shown(study.best, 200))), sure, amount(study.cost), rest, ago] };
}

function show() {
  if (studies === null) {
    fill(list, make("p", {}, "The studies are being opened…"));
    return;
  }
  const more = studies.find((study) => study.more !== undefined)?.more;
  const lines = studies.filter((study) => study.study !== undefined).map(line);
  if (!lines.length) {
    fill(list, make("p", {}, "The storage holds no study."));
    return;
  }
  fill(list, table(["", "study", "status", "best", "confidence", "cost", "to go", "active"], lines, ["tick", 1, 1, 1, null, "spare", "spare", "spare"], "studies"), more ? make("p", {}, `${count(more)} older studies are not shown.`) : null);
}

function compare() {
  beside.hidden = chosen.size === 0;
  const drawn = [...chosen].filter(([, one]) => one.moments.length).map(([label, one]) => ({ label, ...one }));
  if (drawn.length) drawConfidence(chart, drawn);
}

list.addEventListener("change", (event) => {
  const name = event.target.dataset.study;
  if (!event.target.checked) {
    chosen.get(name)?.source.close();
    chosen.delete(name);
  } else if (chosen.size >= MOST_COMPARED) {
    event.target.checked = false;
    said.textContent = `At most ${MOST_COMPARED} studies are compared at once.`;
  } else {
    const one = { moments: [], wanted: 1 };
    one.source = listen(studyPath(name, "/events"), {
      moments: (moments) => ((one.moments = moments), compare()),
      study: (study) => {
        one.wanted = study.wanted;
        if (!one.moments.length || study.moment.cost > one.moments[one.moments.length - 1].cost) one.moments.push(study.moment);
        compare();
      },
    }, () => {}, [studyPath(name)]);
    chosen.set(name, one);
  }
  compare();
});

await enter(main);
main.replaceChildren(nav(), make("h1", {}, "Studies"), said, list, beside);
listen("/api/overview/events", {
  studies: (found) => ((studies = found.studies), show()),
  trouble: (found) => (said.textContent = found.error),
}, (sentence) => (said.textContent = sentence), ["/api/studies"]);
show();
setInterval(show, 5000);
