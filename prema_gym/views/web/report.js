// Tables sort by the column that is asked for; a policy that is unticked leaves every chart and table.
"use strict";
(() => {
  document.querySelectorAll("table.sorted").forEach((table) => {
    const body = table.tBodies[0];
    table.querySelectorAll("thead th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.value;
        const rows = [...body.rows].sort((a, b) => {
          const one = value(a), two = value(b);
          if (column === 0) return one.localeCompare(two);
          if (one === "" || two === "") return (one === "") - (two === "");  // no value: last, always
          return (one - two) * (up ? 1 : -1);
        });
        if (column === 0 && !up) rows.reverse();
        body.append(...rows);
      });
    });
  });
  document.querySelectorAll("input[data-toggles]").forEach((box) =>
    box.addEventListener("change", () =>
      document.querySelectorAll(`[data-policy="${box.dataset.toggles}"]`).forEach((one) =>
        one.toggleAttribute("hidden", !box.checked))));
})();
