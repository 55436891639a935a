// Tooltips and copy buttons. The page is complete without them.
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
  // A page that is opened from a disk may have no clipboard: then the text is
  // selected, to be copied by hand.
  const copy = (button, element, text) => {
    const done = (said) => {
      const before = button.textContent;
      button.textContent = said;
      setTimeout(() => (button.textContent = before), 1500);
    };
    const select = () => {
      getSelection().selectAllChildren(element);
      done("Selected");
    };
    if (navigator.clipboard) {
      navigator.clipboard.writeText(text).then(() => done("Copied"), select);
    } else {
      select();
    }
  };
  const cells = (row) => [...row.cells].map((cell) => cell.textContent).join("\t");
  for (const element of document.querySelectorAll("pre code, .wide table")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    const text = element.rows
      ? [...element.rows].map(cells).join("\n")
      : element.textContent;
    button.addEventListener("click", () => copy(button, element, text));
    element.closest("pre, .wide").previousElementSibling.prepend(button);
  }
})();
