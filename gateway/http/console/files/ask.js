// Asks before something is done: what will happen, a reason for the history, and what the host says to it.

import { Refused } from "/api.js";
import { h, visible } from "/dom.js";

function input({ name, kind, value, choices, optional }) {
  const id = `ask-${name}`;
  if (choices) return h("select", { id, name }, choices.map((one) => h("option", { value: one }, one)));
  if (kind === "lines") return h("textarea", { id, name, rows: 6, required: !optional }, value);
  return h("input", {
    id, name, value, type: kind ?? "text", required: !optional, autocomplete: "off", ...(kind === "number" ? { min: 0, step: "any" } : {}),
  });
}

/** Asks, and returns the values once it was carried out, or nothing where it was given up. What carryOut returns is shown. */
export function ask({ title, does, fields = [], word, harm, carryOut }) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    let over = false; // what is carried out may end after that
    const inputs = fields.map(input);
    const said = h("p", { class: "note", role: "alert", hidden: true });
    const main = h("button", { class: harm ? "harm" : "main", type: "submit" }, word);
    const cancel = h("button", { type: "button", onclick: () => finish() }, "Cancel");
    const say = (kind, text) => { said.hidden = false; said.className = `note ${kind}`; said.textContent = visible(text); };
    const submit = async (event) => {
      event.preventDefault();
      main.disabled = true;
      const values = Object.fromEntries(new FormData(form));
      try {
        const result = await carryOut(values);
        if (typeof result !== "string") return finish(values);
        say("good", result);
        main.hidden = true;
        cancel.textContent = "Close";
        cancel.focus();
      } catch (error) {
        say("bad", error instanceof Refused ? error.words : `The host does not answer: ${error.message}`);
        main.disabled = false;
      }
    };
    const form = h("form", { onsubmit: submit }, h("h1", { id: "dialog-title" }, title), h("div", {}, does),
      fields.map((field, i) => [h("label", { for: `ask-${field.name}` }, field.label), inputs[i]]), said,
      h("div", { class: "row" }, cancel, main));
    const finish = (values) => {
      if (over) return;
      over = true;
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      dialog.replaceChildren();
      resolve(values);
    };
    dialog.replaceChildren(form);
    dialog.onclose = () => { if (!dialog.open) finish(); }; // the event of the dialog before comes late
    dialog.showModal();
    (inputs[0] ?? cancel).focus();
  });
}
