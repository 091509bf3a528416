// SPDX-License-Identifier: GPL-2.0-or-later
// Sets the chosen colour scheme before the first paint. It is a classic script because modules run later.
(() => {
  try {
    const choice = localStorage.getItem("theme");
    if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
  } catch {
    // Without storage, the page follows the system.
  }
})();
