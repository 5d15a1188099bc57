"use strict";
// Two films of a question on one clock, the answers of a person, and in between what the run does.
(() => {
  const POLL_MS = 700;
  const APART_S = 0.06;
  const HELD_MS = 800;
  const { $, data } = page;
  const films = [$("#left"), $("#right")];
  const buttons = [...document.querySelectorAll("#question button")];
  const pressed = { pause: matchMedia("(prefers-reduced-motion: reduce)").matches, half: false };
  let turn = null; // of the films on the page
  let answered = null;
  let over = "";
  let held = 0;

  // The longer film is the clock; the other follows, and holds its last frame.
  function follow(now) {
    const clock = films[1].duration > films[0].duration ? films[1] : films[0];
    const other = films[clock === films[0] ? 1 : 0];
    if (turn !== null && !pressed.pause) {
      const place = Math.min(clock.currentTime, other.duration);
      if (!other.seeking && Math.abs(other.currentTime - place) > APART_S) other.currentTime = place;
      if (!clock.ended) held = now;
      else if (now - held > HELD_MS) replay();
    }
    requestAnimationFrame(follow);
  }
  function play() {
    for (const film of films) {
      film.playbackRate = pressed.half ? 0.5 : 1;
      if (pressed.pause) film.pause();
      else if (!film.ended) film.play().catch(() => {});
    }
    for (const name in pressed) $(`[data-do=${name}]`).setAttribute("aria-pressed", pressed[name]);
  }
  function replay() {
    held = performance.now();
    for (const film of films) film.currentTime = 0;
    for (const film of pressed.pause ? [] : films) film.play().catch(() => {});
  }
  function toggle(name) {
    pressed[name] = !pressed[name];
    play();
  }

  async function film(side) {
    const reply = await fetch(`films/${side}`);
    if (!reply.ok) throw new Error(side);
    return URL.createObjectURL(await reply.blob());
  }
  async function show(next) {
    const sources = await Promise.all(["left", "right"].map((side) => film(`${next}/${side}`)));
    await Promise.all(films.map((each, index) => new Promise((ready, failed) => {
      URL.revokeObjectURL(each.src);
      each.oncanplaythrough = ready;
      each.onerror = failed;
      each.src = sources[index];
    })));
    for (const each of films) each.oncanplaythrough = each.onerror = null;
    turn = next;
    play();
  }
  function wait(text, done) {
    turn = null;
    $("#question").hidden = true;
    $("#doing").textContent = text;
    $("#doing").parentElement.hidden = false;
    $("#done").hidden = done == null;
    $("#done").value = done ?? 0;
    for (const each of films) each.pause();
  }

  let timer = 0;
  async function poll() {
    try {
      await take(await (await fetch("state")).json());
    } catch {
      wait(over || `The run does not answer: it has ended, or \`${data.resume}\` asks this question again, at a new address.`);
    }
    document.title = `${turn === null ? "" : "● "}${data.task} · rewardgen`;
    clearTimeout(timer);
    timer = setTimeout(poll, POLL_MS);
  }
  async function take(state) {
    $("#asked").textContent = state.over ? "" : state.progress;
    if (state.over) over = `The search has ended; thank you. The report, once fresh seeds have decided: ${state.report}`;
    if (state.turn == null || state.turn === answered) {
      const first = state.text[0].toUpperCase() + state.text.slice(1);
      return wait(state.over ? over : answered && state.turn === answered ? "Noted" : first, state.done);
    }
    if (state.turn !== turn) {
      turn = null;
      await show(state.turn);
      if (!state.again) $("#why").value = "";
    }
    $("#doing").parentElement.hidden = true;
    $("#question").hidden = false;
    $("#again").hidden = !state.again;
    $("#undo").disabled = !state.undo;
    $("#undo span").textContent = state.again ? "Keep that answer" : "Undo the latest answer";
  }
  async function send(answer) {
    if (turn === null) return;
    const body = JSON.stringify({ turn, answer, why: answer === "undo" ? "" : $("#why").value });
    answered = turn;
    document.activeElement.blur(); // so that the next space does not press this button again
    wait("Noted");
    const reply = await fetch("answer", { method: "POST", body }).catch(() => null);
    if (!reply?.ok) answered = null;
    poll();
  }

  for (const button of buttons)
    button.addEventListener("click", () => {
      const { answer, do: name } = button.dataset;
      if (answer) send(answer);
      else if (name === "replay") replay();
      else toggle(name);
    });
  $("#why").addEventListener("keydown", (event) => {
    if (["Enter", "Escape"].includes(event.key)) $("#why").blur();
  });
  addEventListener("keydown", (event) => {
    const inside = event.target.closest?.("input, summary, a") || (event.key === " " && event.target.closest?.("button"));
    if (inside || event.repeat || event.ctrlKey || event.metaKey || event.altKey || turn === null) return;
    const button = buttons.find((each) => each.dataset.key === event.key);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  requestAnimationFrame(follow);
  poll();
})();
