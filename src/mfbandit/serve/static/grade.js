// Grading: one thing after another, blind. The server says what is shown; it never says whose answer it is.
import { listen, make, nameInAddress, request } from "./common.js";
import { markdown } from "./markdown.js";
import { count } from "./format.js";

const main = document.getElementById("main");
const name = nameInAddress("grade");
const path = `/api/grade/${encodeURIComponent(name)}`;
const said = make("p", { class: "status", role: "status" });
const frame = make("div", {});
const foot = make("div", { class: "row grade-foot" });
let state = null;
let busy = false;

function text(content, isMarkdown) {
  const element = make("div", { class: "shown", dir: "auto" });
  if (isMarkdown) element.append(...markdown(content));
  else element.append(make("div", { class: "plain" }, content));
  return element;
}

/** The key of each grade: its own digit where all have one, else 1, 2, ... */
function keys(grades) {
  return grades.every((grade) => /^[0-9]$/.test(grade)) ? grades : grades.map((_, number) => String((number + 1) % 10));
}

async function send(what, more = {}) {
  if (busy || !state) return;
  busy = true;
  try {
    show(await request(`${path}/${what}`, { person: state.person, task: state.task?.name, ...more }));
    said.textContent = "";
  } catch (error) {
    said.textContent = error.message;
  }
  busy = false;
}

function show(found) {
  const same = state?.task?.name === found.task?.name && state?.waits === found.waits && state?.status === found.status;
  state = found;
  if (!same || !frame.childNodes.length) draw();
  const undo = make("button", { id: "undo", disabled: !found.undo }, "Undo the last one (U)");
  undo.addEventListener("click", () => send("undo"));
  const skip = make("button", { id: "skip", disabled: !found.task }, "I cannot tell (S)");
  skip.addEventListener("click", () => send("skip"));
  foot.replaceChildren(undo, skip, make("span", { class: "status", id: "count" }, `${count(found.graded)} graded`));
}

function draw() {
  const { task, status, waits } = state;
  if (!task) {
    const done = status !== "running";
    frame.replaceChildren(make("h1", {}, done ? "All is graded. Thank you." : "Please wait"), make("p", {}, done ? "The study is done." : waits));
    return;
  }
  const marks = keys(task.grades);
  const buttons = task.grades.map((grade, number) => {
    const button = make("button", { class: "grade", "data-grade": number }, make("kbd", {}, marks[number]), grade === marks[number] ? "" : ` ${grade}`);
    button.addEventListener("click", () => send("give", { grade: number }));
    return button;
  });
  const digits = task.grades.every((grade, number) => grade === marks[number]);
  const two = task.answers.length === 2;
  const answers = task.answers.map((answer, number) => make("section", { class: "answer" }, two ? make("h2", {}, number ? "The second answer" : "The first answer") : make("h2", {}, "The answer"), text(answer, task.markdown)));
  const shownParts = [
    make("section", { class: "item" }, make("h2", {}, "The item"), text(task.item, task.markdown)),
    make("div", { class: two ? "answers two" : "answers" }, ...answers),
    task.rising && digits ? make("p", { class: "hint" }, `${task.grades[0]} is the worst, ${task.grades[task.grades.length - 1]} the best. Press a button or its key.`) : null,
    make("div", { class: `row grades${task.grades.length > 5 ? " many" : ""}`, role: "group", "aria-label": "grades" }, ...buttons),
  ];
  frame.replaceChildren(...shownParts.filter((part) => part !== null));
  scrollTo(0, 0);
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !state || event.target instanceof HTMLInputElement) return;
  if (event.key === "u" || event.key === "U") send("undo");
  else if (event.key === "s" || event.key === "S") send("skip");
  else if (state.task) {
    const number = keys(state.task.grades).indexOf(event.key);
    if (number >= 0) send("give", { grade: number });
  }
});

/** Ask for a name, once for each browser. */
function askForName() {
  return new Promise((done) => {
    const field = make("input", { type: "text", maxlength: 60, required: true, "aria-label": "your name", value: localStorage.getItem("mfbandit name") ?? "" });
    const form = make("form", { class: "line" }, field, make("button", {}, "Begin"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      localStorage.setItem("mfbandit name", field.value);
      done(field.value);
    });
    main.replaceChildren(
      make("h1", {}, "What is your name?"),
      make("p", {}, "You will be shown one thing after another, and give each a grade. Whose answer it is you do not learn. Your name is kept with your grades, so that nothing comes to you twice."),
      form,
    );
    field.focus();
  });
}

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname);
  await request(`${path}/login`, { token: given }).catch((error) => (said.textContent = error.message));
}
const person = await askForName();
main.replaceChildren(make("nav", {}, make("span", { class: "brand" }, "Grading"), make("span", { class: "space" }), said), frame, foot);
const handlers = { state: show, trouble: (found) => (said.textContent = found.error) };
listen(`${path}/events?person=${encodeURIComponent(person)}`, handlers, (sentence) => (said.textContent = sentence), [`${path}/undo`, {}]);
