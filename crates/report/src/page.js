// Tooltips, copy buttons, tab stops and the tables as CSV. The page is complete
// without them.
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
      if (element) {
        getSelection().selectAllChildren(element);
      }
      done(element ? "Selected" : "See the address bar");
    };
    if (navigator.clipboard) {
      navigator.clipboard.writeText(text).then(() => done("Copied"), select);
    } else {
      select();
    }
  };
  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => act(made));
    return made;
  };
  const lines = (table, row) =>
    [...table.rows].map((of) => row([...of.cells].map((cell) => cell.textContent)));
  for (const element of document.querySelectorAll("pre code, .wide table")) {
    const text = element.rows
      ? lines(element, (cells) => cells.join("\t")).join("\n")
      : element.textContent;
    const made = button("Copy", (self) => copy(self, element, text));
    const name = element.rows
      ? element.closest(".wide").getAttribute("aria-label")
      : element.closest("pre").previousElementSibling.textContent;
    made.setAttribute("aria-label", "Copy: " + name);
    element.closest("pre, .wide").previousElementSibling.prepend(made);
  }
  // Only boxes that scroll are tab stops.
  const stops = document.querySelectorAll(".wide, .drawing");
  const settle = () => {
    for (const element of stops) {
      element.tabIndex = element.scrollWidth > element.clientWidth ? 0 : -1;
    }
  };
  settle();
  addEventListener("resize", settle);
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", settle);
  }
  // RFC 4180, each table under its caption.
  const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  const csv = () =>
    [...document.querySelectorAll(".wide table")]
      .map((table) => {
        const caption = table.parentElement.previousElementSibling.cloneNode(true);
        caption.querySelectorAll("button").forEach((made) => made.remove());
        const rows = lines(table, (cells) => cells.map(quoted).join(","));
        return [quoted(caption.textContent), ...rows].join("\r\n");
      })
      .join("\r\n\r\n");
  const tools = document.createElement("p");
  tools.className = "tools";
  tools.append(
    button("Copy link", (self) => copy(self, null, location.href)),
    button("CSV", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
      link.download = "octavo-tables.csv";
      link.click();
      URL.revokeObjectURL(link.href);
    }),
  );
  document.querySelector("h1").before(tools);
})();
