// Asks before something is done: what will happen, a reason for the history, and what the host says to it.

import { Refused } from "/api.js";
import { h } from "/dom.js";

/** Returns the values once it was carried out, or nothing where it was given up. */
export function ask({ title, does, fields = [], word, harm, carryOut }) {
  const dialog = document.getElementById("dialog");
  return new Promise((resolve) => {
    const inputs = fields.map((field) => h("input", {
      id: `ask-${field.name}`, name: field.name, type: field.kind ?? "text", required: !field.optional,
      autocomplete: "off", value: field.value,
    }));
    const problem = h("p", { class: "note bad", role: "alert", hidden: true });
    const form = h("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        const values = Object.fromEntries(new FormData(form));
        try {
          await carryOut(values);
          finish(values);
        } catch (refused) {
          problem.hidden = false;
          problem.textContent = refused instanceof Refused ? `${refused.problem.detail}. ${refused.problem.do}.` : String(refused);
        }
      },
    }, h("h1", { id: "dialog-title" }, title), h("p", {}, does),
      fields.map((field, i) => [h("label", { for: `ask-${field.name}` }, field.label), inputs[i]]), problem,
      h("div", { class: "row" }, h("button", { type: "button", onclick: () => finish() }, "Cancel"),
        h("button", { class: harm ? "harm" : "main", type: "submit" }, word)));
    const finish = (values) => {
      dialog.onclose = null;
      if (dialog.open) dialog.close();
      dialog.replaceChildren();
      resolve(values);
    };
    dialog.replaceChildren(form);
    dialog.onclose = () => finish();
    dialog.showModal();
    (inputs[0] ?? form.querySelector("button")).focus();
  });
}
