"use strict";
// On a page that a server keeps up to date: how far the run is, and the page anew once there is more to show and the
// reader does nothing else with it.
(() => {
  const QUIET_MS = 6000;
  const shown = page.data.served;
  const meter = page.el("progress", { max: 1, value: 0, "aria-label": "Share of the trainings that is done", hidden: true });
  const text = page.el("span", {}, "");
  const newer = page.el("button", { type: "button", class: "step", hidden: true, onclick: () => location.reload() }, "Show what is new");
  const all = page.data.run && page.el("a", { href: "../../" }, "All runs");
  document.querySelector("header.bar").after(page.el("div", { class: "served" }, all, meter, text, newer));

  let touched = Date.now();
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchmove"])
    addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
  const resting = () =>
    Date.now() - touched > QUIET_MS && !document.hidden && getSelection().isCollapsed &&
    [...document.querySelectorAll("video")].every((each) => each.paused) && !document.querySelector("input:checked");

  const source = new EventSource("events");
  source.onmessage = (message) => {
    const told = JSON.parse(message.data);
    text.textContent = told.text;
    meter.hidden = told.done == null;
    meter.value = told.done ?? 0;
    newer.hidden = told.version === shown;
  };
  source.onerror = () => { text.textContent = "the server does not answer"; };
  setInterval(() => { if (!newer.hidden && resting()) location.reload(); }, 500);
})();
