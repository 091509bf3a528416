// SPDX-License-Identifier: GPL-2.0-or-later

/// The script of the page: it sorts columns and selects series in charts.
enum PageScript {
    static let source: Markup = #"""
        "use strict";
        for (const table of document.querySelectorAll("table.sortable")) {
          const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
          heads.forEach((head, column) => {
            const button = document.createElement("button");
            button.type = "button";
            button.append(...head.childNodes);
            head.append(button);
            button.addEventListener("click", () => {
              const key = row => row.cells[column].dataset.v;
              const words = row => row.cells[column].textContent;
              const isNumber = head.classList.contains("n");
              const was = head.getAttribute("aria-sort");
              const way = was === "ascending" ? "descending" : was === "descending" ? "ascending"
                : isNumber ? "descending" : "ascending";
              const sign = way === "ascending" ? 1 : -1;
              const rows = [...body.rows].sort((a, b) => {
                if (!isNumber) return sign * words(a).localeCompare(words(b), undefined, {numeric: true});
                if (key(a) === undefined || key(b) === undefined) return (key(a) === undefined) - (key(b) === undefined);
                return sign * (Number(key(a)) - Number(key(b)));
              });
              for (const other of heads) other.removeAttribute("aria-sort");
              head.setAttribute("aria-sort", way);
              body.append(...rows);
            });
          });
        }
        for (const figure of document.querySelectorAll("figure")) {
          const items = [...figure.querySelectorAll(".legend li")];
          for (const item of items) {
            const button = document.createElement("button");
            button.type = "button";
            button.setAttribute("aria-pressed", "false");
            button.append(...item.childNodes);
            item.append(button);
            button.addEventListener("click", () => {
              button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
              const picked = new Set(items.filter(one => one.firstChild.getAttribute("aria-pressed") === "true")
                .map(one => one.dataset.series));
              for (const part of figure.querySelectorAll("svg [data-series]"))
                part.classList.toggle("dim", picked.size > 0 && !picked.has(part.dataset.series));
            });
          }
        }
        """#
}
