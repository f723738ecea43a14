// A little Markdown as elements: paragraphs, headings, lists, quotations, code, emphasis. Whatever else there is stays
// text: no HTML, no links, no images, so that an answer can neither act nor load anything.
import { make } from "./common.js";

const INLINE = /(`+)([^`]|[^`][^]*?[^`])\1(?!`)|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|__([^_\n]+)__/g;

function inline(text) {
  const parts = [];
  let past = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(past, match.index));
    if (match[2] !== undefined) parts.push(make("code", {}, match[2]));
    else if (match[3] ?? match[5]) parts.push(make("strong", {}, match[3] ?? match[5]));
    else parts.push(make("em", {}, match[4]));
    past = match.index + match[0].length;
  }
  return [...parts, text.slice(past)];
}

function list(lines, mark) {
  return make(mark.test("1. ") ? "ol" : "ul", {}, ...lines.map((line) => make("li", {}, ...inline(line.replace(mark, "")))));
}

/** Elements for a text in Markdown. */
export function markdown(text) {
  const found = [];
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const take = (wanted) => {
    const taken = [];
    while (lines.length && wanted(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length) {
    const line = lines[0];
    const fence = line.match(/^(```+|~~~+)/);
    if (fence) {
      lines.shift();
      const code = take((one) => !one.startsWith(fence[1]));
      lines.shift();
      found.push(make("pre", {}, make("code", {}, code.join("\n"))));
    } else if (/^#{1,6} /.test(line)) {
      found.push(make(`h${Math.min(6, line.indexOf(" ") + 2)}`, {}, ...inline(lines.shift().replace(/^#+ /, ""))));
    } else if (/^[-*+] /.test(line)) {
      found.push(list(take((one) => /^[-*+] /.test(one)), /^[-*+] /));
    } else if (/^\d+[.)] /.test(line)) {
      found.push(list(take((one) => /^\d+[.)] /.test(one)), /^\d+[.)] /));
    } else if (line.startsWith(">")) {
      found.push(make("blockquote", {}, ...inline(take((one) => one.startsWith(">")).map((one) => one.replace(/^> ?/, "")).join("\n"))));
    } else if (!line.trim()) {
      lines.shift();
    } else {
      const first = lines.shift();
      found.push(make("p", {}, ...inline([first, ...take((one) => one.trim() && !/^(```|~~~|#{1,6} |[-*+] |\d+[.)] |>)/.test(one))].join("\n"))));
    }
  }
  return found;
}
