// What all pages share: elements made of text, requests, the token, and events from the server.

export const root = document.querySelector("meta[name=root]").content;

/** Make an element; children are elements or texts, never HTML. */
export function make(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(tag, settings = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Put other children into an element, unless that changes nothing: what is selected or focused stays. */
export function fill(element, ...children) {
  const fresh = make("div", {}, ...children);
  if (element.innerHTML !== fresh.innerHTML) element.replaceChildren(...fresh.childNodes);
}

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export async function request(path, body) {
  const settings = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const answer = await fetch(root + path, { credentials: "same-origin", ...settings });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, found.error ?? `the server answered ${answer.status}`);
  return found;
}

/** The path of a study's interface. */
export function studyPath(name, rest = "") {
  return `/api/studies/${encodeURIComponent(name)}${rest}`;
}

/** The name of the study that an address such as /study/NAME is about. */
export function nameInAddress(page) {
  return decodeURIComponent(location.pathname.slice(`${root}/${page}/`.length));
}

/** Trade the token behind the # of a link for a cookie; ask for it where nothing can be read without. */
export async function enter(main) {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    await request("/api/login", { token: given }).catch(() => {});
  }
  const me = await request("/api/me");
  if (!me.reads) await askForToken(main);
  return me;
}

function askForToken(main) {
  return new Promise((done) => {
    const field = make("input", { type: "password", "aria-label": "token", autocomplete: "off", required: true });
    const said = make("p", { role: "alert" });
    const form = make("form", { class: "line" }, field, make("button", {}, "Enter"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await request("/api/login", { token: field.value });
        done();
      } catch (error) {
        said.textContent = error.message;
      }
    });
    main.replaceChildren(make("h1", {}, "This page needs its token"), make("p", {}, "It was given to the server when it was started."), form, said);
    field.focus();
  });
}

/** Listen to the server; the browser itself tries again when the connection is lost. `why` says what is wrong if not. */
export function listen(path, handlers, said, why) {
  const source = new EventSource(root + path, { withCredentials: true });
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  }
  source.addEventListener("open", () => said(""));
  source.addEventListener("error", async () => {
    if (source.readyState !== EventSource.CLOSED) return said("The connection is lost; trying again…");
    const refused = await request(...why).then(() => null, (error) => error);
    said(refused instanceof Refused ? `${refused.message[0].toUpperCase()}${refused.message.slice(1)}.` : "The server does not answer: load the page again.");
  });
  return source;
}

export function nav(...more) {
  return make("nav", {}, make("a", { class: "brand", href: `${root}/` }, "mfbandit"), ...more);
}

export function badge(status) {
  const good = status === "certified";
  return make("span", { class: `badge ${good ? "good" : "open"}` }, status);
}

export function section(title, text, ...children) {
  return make("section", {}, make("h2", {}, title), text ? make("p", {}, text) : null, ...children);
}

/** A table: headings, and rows of cells; `words` says of each column whether it holds words, or gives its class. */
export function table(headings, rows, words, name) {
  const kind = (column) => (words[column] === 1 ? "text" : words[column] || null);
  const line = (tag, cells) => cells.map((content, column) => (content instanceof HTMLTableCellElement ? content : make(tag, { class: kind(column) }, content)));
  const body = rows.map((row) => make("tr", { class: row.kind ?? null }, ...line("td", row.cells)));
  const head = make("thead", {}, make("tr", {}, ...line("th", headings)));
  return make("div", { class: "scroll" }, make("table", { class: "wide", "aria-label": name }, head, make("tbody", {}, ...body)));
}
