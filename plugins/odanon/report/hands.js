"use strict";
// Wheel, drag, pinch and keys on a map.
(() => {
  // act: {zoom(factor, x, y) -> whether it did, pan(dx, dy), home(), hover(event or null), pick(event), tool() -> the one in use or null}.
  // A tool may take what happens for itself: press(event), then drag(event) and lift(event) if it returned true; click(event);
  // move(event); key(event) -> whether it was for the tool.
  odanon.hands = (canvas, act) => {
    // A page that scrolls down over the map is let through, because there is nothing further out to zoom to.
    canvas.addEventListener(
      "wheel",
      (event) => {
        const box = canvas.getBoundingClientRect();
        const steps = event.deltaY * (event.deltaMode ? 20 : 1);
        if (act.zoom(Math.exp(-steps / 400), event.clientX - box.left, event.clientY - box.top)) event.preventDefault();
      },
      { passive: false },
    );

    const fingers = new Map();
    let moved = 0;
    let held = null; // the tool that took the pointer
    canvas.addEventListener("pointerdown", (event) => {
      if (!fingers.size) moved = 0;
      fingers.set(event.pointerId, event);
      const tool = act.tool();
      held = tool && fingers.size === 1 && tool.press(event) ? tool : null;
    });
    const drag = (event, before) => {
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 4) return;
      canvas.setPointerCapture(event.pointerId); // a drag goes on outside the map
      odanon.tip.hide();
      const still = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      fingers.set(event.pointerId, event);
      if (held) held.drag(event);
      else if (still) {
        const apart = (p) => Math.hypot(p.clientX - still.clientX, p.clientY - still.clientY);
        const box = canvas.getBoundingClientRect();
        act.zoom(apart(event) / Math.max(1, apart(before)), still.clientX - box.left, still.clientY - box.top);
      } else act.pan(dx, dy);
    };
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (before) drag(event, before);
      else if (act.tool()) act.tool().move(event);
      else act.hover(event);
    });
    const lift = (event) => {
      const last = fingers.delete(event.pointerId) && !fingers.size;
      const still = last && event.type === "pointerup" && moved < 4;
      if (held) held.lift(event);
      else if (still && act.tool()) act.tool().click(event);
      else if (still) act.pick(event);
      if (last) held = null;
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => {
      odanon.tip.hide();
      act.hover(null);
    });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (act.tool() && act.tool().key(event)) {
        event.stopPropagation();
        event.preventDefault();
        return;
      }
      if (moves[event.key]) act.pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") act.zoom(1.6);
      else if (event.key === "-") act.zoom(1 / 1.6);
      else if (event.key === "0") act.home();
      else return;
      event.preventDefault();
    });
  };
})();
