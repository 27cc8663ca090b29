// Suggestions while typing, as a combobox: arrows choose, Enter takes, Escape closes. Pages work without it.
"use strict";

const WAIT = 90; // milliseconds of silence before a request

function suggest(input, number) {
  const list = document.createElement("ul");
  list.className = "suggestions";
  list.id = `suggestions-${number}`;
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  let items = [], chosen = -1, timer = 0, asked = 0;

  function close() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(index) {
    chosen = index;
    for (const [i, item] of [...list.children].entries()) {
      item.setAttribute("aria-selected", String(i === chosen));
      if (i === chosen) {
        item.scrollIntoView({ block: "nearest" });
        input.setAttribute("aria-activedescendant", item.id);
      }
    }
    if (chosen < 0) input.removeAttribute("aria-activedescendant");
  }

  function take(item) {
    close();
    if (input.dataset.suggest === "open") location.assign(item.address);
    else input.value = item.name;
  }

  function piece(tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text; // never markup: it comes from the data
    if (name) element.className = name;
    return element;
  }

  function show(found) {
    items = found;
    list.replaceChildren(...found.map((item, i) => {
      const line = document.createElement("li");
      line.id = `${list.id}-${i}`;
      line.setAttribute("role", "option");
      line.setAttribute("aria-selected", "false");
      line.append(piece("span", item.kind, "kind"), piece("span", item.label));
      if (item.label !== item.name) line.append(" ", piece("small", item.name));
      line.addEventListener("mousedown", (event) => { event.preventDefault(); take(item); });
      return line;
    }));
    chosen = -1;
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
  }

  async function ask() {
    const typed = input.value.trim(), mine = ++asked;
    if (!typed) { close(); return; }
    const values = new URLSearchParams({ q: typed });
    if (input.dataset.kind) values.set("kind", input.dataset.kind);
    try {
      const answer = await fetch(`/search.json?${values}`);
      if (mine === asked && answer.ok && document.activeElement === input) show((await answer.json()).suggestions);
    } catch { close(); } // the viewer was stopped: the form still says so when it is sent
  }

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      choose(chosen < 0 ? (step > 0 ? 0 : items.length - 1) : (chosen + step + items.length) % items.length);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(items[chosen]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    }
  });
}

for (const [number, input] of document.querySelectorAll("input[data-suggest]").entries()) suggest(input, number);
