"use strict";
// A picture that is larger than its window: moving the window shows another part of it, while the next is drawn step by step.
(() => {
  const room = 0.35; // of the window, at each side of it
  const budget = 7; // milliseconds of drawing a frame

  // again() asks for another frame.
  odanon.film = (again) => {
    let done = null; // the last whole picture
    let made = null; // the one that is being drawn
    let stale = true;
    const begin = (view, size, ratio, steps) => {
      const margin = { x: Math.round(size.width * room), y: Math.round(size.height * room) };
      const large = { width: size.width + 2 * margin.x, height: size.height + 2 * margin.y };
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(large.width * ratio);
      canvas.height = Math.round(large.height * ratio);
      const shifted = { scale: view.scale, x: view.x + margin.x, y: view.y + margin.y };
      const paint = canvas.getContext("2d", { willReadFrequently: true });
      return { canvas, large, ratio, view: shifted, size, paint, steps: steps(paint, ratio, shifted, large) };
    };
    // Where a picture lies in a window that looks at `view`.
    const placed = (picture, view) => {
      const f = view.scale / picture.view.scale;
      return [
        view.x - picture.view.x * f,
        view.y - picture.view.y * f,
        picture.large.width * f,
        picture.large.height * f,
      ];
    };
    const fits = (view, size, ratio) => {
      if (!done || done.ratio !== ratio) return false;
      if (Math.abs(view.scale / done.view.scale - 1) > 1e-9) return false;
      const [x, y, width, height] = placed(done, view);
      const near = (from, long, end) => from < -0.1 * end && from + long > 1.1 * end;
      return near(x, width, size.width) && near(y, height, size.height);
    };
    return {
      // What is shown has changed; the old picture stays until the new one is whole.
      change: () => {
        stale = true;
        made = null;
      },
      forget: () => {
        done = made = null;
        stale = true;
      },
      draw: (paint, view, size, ratio, steps) => {
        if (!made && (stale || !fits(view, size, ratio))) {
          made = begin(view, size, ratio, steps);
          stale = false;
        }
        if (made) {
          const end = performance.now() + (done ? budget : 60);
          let step = made.steps.next();
          while (!step.done && performance.now() < end) {
            made.paint.getImageData(0, 0, 1, 1); // draws now what would pile up until the next frame
            step = made.steps.next();
          }
          if (step.done) {
            done = made;
            made = null;
            if (stale || !fits(view, size, ratio)) again();
          } else again();
        }
        const picture = done || made;
        paint.drawImage(picture.canvas, ...placed(picture, view));
      },
    };
  };
})();
