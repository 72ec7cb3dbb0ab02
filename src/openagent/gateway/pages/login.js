"use strict";

// The code stands behind the #, which a browser sends to nobody; it goes into one request, and out of the history.
const code = location.hash.slice(1);
history.replaceState(null, "", "/login");

function explain(text) {
  document.getElementById("state").textContent = text;
  document.getElementById("help").hidden = false;
  document.getElementById("command").hidden = false;
}

async function logIn() {
  if (!code) {
    explain("This browser is not logged in.");
    return;
  }
  try {
    const answer = await fetch("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (answer.ok) {
      location.replace("/");
    } else {
      explain("This address was used before, or is too old.");
    }
  } catch {
    explain("The daemon does not answer.");
  }
}

logIn();
