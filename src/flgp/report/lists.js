// Lists of rows: a click on a head sorts by it, a button saves the list as CSV.
"use strict";
(() => {
  for (const list of document.querySelectorAll("section.list")) {
    const body = list.querySelector("tbody");
    const heads = [...list.querySelectorAll("thead th")];
    heads.forEach((head, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = (row) => row.cells[k].textContent;
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [Number(value(a)), Number(value(b))];
          return Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
        });
        body.replaceChildren(...(down ? rows.reverse() : rows));
      });
    });
    // The first column is the number of the row: its point on the map.
    for (const line of body.rows) {
      line.tabIndex = 0;
      const show = () => window.flgpReport.showRow(Number(line.cells[0].textContent));
      line.addEventListener("click", show);
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") show(); });
    }
    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "Save as CSV";
    save.addEventListener("click", () => {
      const cell = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const lines = [...list.querySelectorAll("tr")].map((row) => [...row.cells].map((c) => cell(c.textContent)).join(","));
      const link = document.createElement("a");
      link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(lines.join("\n"))}`;
      link.download = `${list.dataset.name}.csv`;
      link.click();
    });
    list.append(save);
  }
})();
