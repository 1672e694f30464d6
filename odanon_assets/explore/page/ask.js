"use strict";
// Questions to the server: an overtaken one is stopped, a mistake is its sentence, and waiting is shown.
(() => {
  const { el } = odanon;
  const running = new Map();
  const patience = 200; // milliseconds without a word of waiting

  class Overtaken extends Error {}

  // The answer as JSON. Of all questions with one name the last alone is answered.
  odanon.ask = async (name, path, body) => {
    if (running.has(name)) running.get(name).abort();
    const stop = new AbortController();
    running.set(name, stop);
    const sent = body === undefined ? {} : { method: "POST", ...body };
    let answer;
    let told;
    try {
      answer = await fetch(path, {
        ...sent,
        signal: stop.signal,
        headers: { Accept: "application/json", ...sent.headers },
      });
      told = await answer.json().catch(() => null);
    } catch {
      if (stop.signal.aborted) throw new Overtaken();
      throw new Error("The server does not answer; look whether it runs, then try again.");
    } finally {
      if (running.get(name) === stop) running.delete(name);
    }
    if (stop.signal.aborted) throw new Overtaken();
    if (!answer.ok || told === null)
      throw new Error((told && told.error) || `The server answered with status ${answer.status}; try again.`);
    return told;
  };
  odanon.json = (value) => ({ body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });
  odanon.bytes = (value) => ({ body: value, headers: { "Content-Type": "application/octet-stream" } });
  odanon.stopAsking = (name) => running.has(name) && running.get(name).abort();
  const sentence = (text) => {
    const trimmed = text.trim();
    const first = /^[a-z]+\s/.test(trimmed) ? trimmed[0].toUpperCase() + trimmed.slice(1) : trimmed; // names stay as they are
    return /[.!?]$/.test(first) ? first : `${first}.`;
  };
  odanon.sentence = sentence;

  // Asks, shows the answer, and while it lasts says so in `note`; a mistake comes there with a button to try again,
  // after `missed` has taken away what was shown before.
  odanon.answer = async (host, note, words, question, show, missed = () => {}) => {
    host.setAttribute("aria-busy", "true");
    const timer = setTimeout(() => {
      note.classList.remove("problem");
      note.replaceChildren(el("span", { class: "spinner", "aria-hidden": "true" }), ` ${words}`);
    }, patience);
    let found;
    try {
      found = await question();
    } catch (mistake) {
      clearTimeout(timer);
      if (mistake instanceof Overtaken) return;
      host.removeAttribute("aria-busy");
      missed();
      note.classList.add("problem");
      const again = () => odanon.answer(host, note, words, question, show, missed);
      note.replaceChildren(
        `${sentence(mistake.message)} `,
        el("button", { type: "button", click: again }, "Try again"),
      );
      return;
    }
    clearTimeout(timer);
    host.removeAttribute("aria-busy");
    note.classList.remove("problem");
    note.replaceChildren();
    show(found);
  };
})();
