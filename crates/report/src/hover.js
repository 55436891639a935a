// Shows an element's data-tip beside the pointer. The page is complete
// without it.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => {
    const text = event.target.getAttribute && event.target.getAttribute("data-tip");
    tip.hidden = !text;
    if (text) {
      tip.textContent = text;
    }
  });
  document.addEventListener("pointermove", (event) => {
    if (tip.hidden) {
      return;
    }
    const right = innerWidth - tip.offsetWidth - 8;
    const below = event.clientY + 16;
    const fits = below + tip.offsetHeight + 8 < innerHeight;
    tip.style.left = Math.max(8, Math.min(event.clientX + 12, right)) + "px";
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 12) + "px";
  });
})();
