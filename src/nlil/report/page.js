"use strict";
// Reading needs no script: this one filters predicates, opens the one that a link names, and opens all for print.
const targets = [...document.querySelectorAll("details.target")];
const filter = document.getElementById("filter");
if (targets.length > 5) {
  filter.hidden = false;
  const [input, output] = [filter.querySelector("input"), filter.querySelector("output")];
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let count = 0;
    for (const target of targets) {
      target.hidden = !target.dataset.name.includes(wanted);
      count += !target.hidden;
    }
    output.textContent = wanted ? `${count} of ${targets.length}` : "";
  });
}
const openNamed = () => {
  const named = location.hash ? document.getElementById(location.hash.slice(1)) : null;
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
};
addEventListener("hashchange", openNamed);
openNamed();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
