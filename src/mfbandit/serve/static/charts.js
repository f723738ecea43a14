// Pictures of how a study goes, drawn with uPlot. Names stand in legends of our own, as text.
import uPlot from "./uplot/uPlot.esm.js";
import { make } from "./common.js";
import { amount, shown } from "./format.js";

// The colours of reports, which people who do not see all colours can tell apart.
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7f7f7f", "#8c6d31"];

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function axis(label, more = {}) {
  const font = "12px system-ui, sans-serif";
  return {
    label, font, labelFont: font, labelSize: 22, size: 44,
    stroke: () => colour("--soft"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1 },
    values: (_, found) => found.map((value) => (value === null ? "" : amount(value))),
    ...more,
  };
}

/** A chart that takes the width of its frame and is drawn anew with other data. */
export class Chart {
  constructor(settings) {
    this.frame = make("div", { class: "chart" });
    this.legend = make("ul", { class: "legend" });
    this.element = make("div", {}, this.frame, this.legend);
    this.settings = settings;
    this.plot = null;
    this.kept = "";
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot?.redraw());
  }

  size() {
    return { width: Math.max(240, this.frame.clientWidth), height: this.frame.clientWidth < 500 ? 220 : 280 };
  }

  /** Draw lines ({label, colour, fill}) over costs; `bands` are pairs of lines with what lies between. */
  draw(lines, data, bands = []) {
    const kind = JSON.stringify([lines, bands]);
    if (this.plot && kind === this.kept) {
      this.plot.setData(data);
      return;
    }
    this.kept = kind;
    this.plot?.destroy();
    const settings = {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: { x: { time: false, range: (_, low, high) => [0, high > 0 ? high : 1] }, y: this.settings.y ?? {} },
      axes: [axis(this.settings.x), axis(this.settings.label, { size: 54 })],
      series: [{}, ...lines.map((line) => ({ stroke: line.colour, width: line.width ?? 2, dash: line.dash, points: { show: false }, spanGaps: false, paths: uPlot.paths.stepped({ align: 1 }) }))],
      bands: bands.map(({ series, colour: shade }) => ({ series, fill: `${shade}1c` })),
    };
    this.plot = new uPlot(settings, data, this.frame);
    const named = lines.filter((line) => line.label !== undefined);
    this.legend.replaceChildren(
      ...named.map((line) => {
        const swatch = make("span", { class: "swatch" });
        swatch.style.background = line.colour;
        return make("li", { title: shown(line.label, 300) }, swatch, make("bdi", {}, shown(line.label, 28)));
      }),
    );
  }
}

/** How sure a study became: one line per study. `studies` are [{label, moments, wanted}]. */
export function drawConfidence(chart, studies) {
  const costs = [...new Set(studies.flatMap(({ moments }) => moments.map((moment) => moment.cost)))].sort((a, b) => a - b);
  const data = [costs];
  const lines = studies.map(({ label, moments }, number) => {
    const at = new Map(moments.map((moment) => [moment.cost, moment.confidence]));
    const last = moments.length ? moments[moments.length - 1].cost : -1;
    let known = null;
    data.push(costs.map((cost) => (cost > last ? null : (known = at.get(cost) ?? known))));
    return { label: studies.length > 1 ? label : undefined, colour: COLOURS[number % COLOURS.length] };
  });
  const wanted = Math.min(...studies.map((one) => one.wanted));
  data.push(costs.map(() => wanted));
  lines.push({ label: `${amount(wanted)} asked for`, colour: "#8a8a8a", dash: [6, 4], width: 1 });
  chart.draw(lines, data);
}

/** Bounds of arms against what was spent: a band for each of `arms` ({index, arm}). */
export function drawBounds(chart, moments, arms) {
  const data = [moments.map((moment) => moment.cost)];
  const lines = [];
  const bands = [];
  arms.forEach(({ index, arm }, number) => {
    const shade = COLOURS[number % COLOURS.length];
    const ends = moments.map((moment) => moment.bounds.find(([one]) => one === index));
    lines.push({ label: arm, colour: shade, width: 1.5 }, { colour: shade, width: 1.5 });
    data.push(ends.map((found) => found?.[2] ?? null), ends.map((found) => found?.[1] ?? null));
    bands.push({ series: [2 * number + 1, 2 * number + 2], colour: shade });
  });
  chart.draw(lines, data, bands);
}
