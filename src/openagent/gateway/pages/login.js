"use strict";

const form = document.getElementById("with-password");
const problems = {
  refused: "You were not let in. Who runs this server can tell why: it stands in the audit trail.",
  unreachable: "The login provider does not answer.",
};

// The page that somebody wanted: the daemon sees to it that it is one of ours.
const after = new URLSearchParams(location.search).get("after") || "/";

// Where people log in, that is the way in; the address for the one who has the machine is the way beside it.
async function offer() {
  const answer = await fetch(`/api/sign-in?${new URLSearchParams({ after })}`).catch(() => null);
  const { name, url, passwords } = answer?.ok ? await answer.json() : { name: "", passwords: false };
  const help = document.getElementById("help");
  help.hidden = false;
  help.open = !name && !passwords;
  help.firstElementChild.hidden = help.open;
  if (passwords) offerPassword();
  if (!name) return;
  const place = document.getElementById("sign-in");
  place.hidden = false;
  place.firstElementChild.href = url;
  place.firstElementChild.textContent = `Sign in with ${name}`;
}

// Browsers treat pages loaded over https, or from this machine, as secure.
function offerPassword() {
  if (isSecureContext) {
    form.hidden = false;
    document.getElementById("email").focus();
  } else {
    document.getElementById("state").textContent +=
      " To sign in with a password, open this server at its https:// address. This page is not encrypted.";
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const refusal = document.getElementById("refusal");
  const button = form.querySelector("button");
  const given = Object.fromEntries(new FormData(form));
  button.disabled = true;
  refusal.textContent = "";
  const answer = await fetch("/api/sign-in/password", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...given, after }),
  }).catch(() => null);
  const told = await answer?.json().catch(() => ({}));
  if (answer?.ok) {
    location.replace(told.after);
    return;
  }
  button.disabled = false;
  refusal.textContent = told?.detail ? `${told.detail} ${told.hint ?? ""}` : "The daemon does not answer.";
  document.getElementById("password").select();
});

function explain(text) {
  document.getElementById("state").textContent = text;
  offer();
}

// The code stands behind the #, which a browser sends to nobody; it goes into one request, and out of the history.
function takeCode() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", "/login");
  return code;
}

async function logIn() {
  const problem = problems[new URLSearchParams(location.search).get("problem")];
  const code = takeCode();
  if (!code) {
    explain(problem || "This browser is not logged in.");
    return;
  }
  document.getElementById("state").textContent = "Logging in…";
  try {
    const answer = await fetch("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    });
    await answer.text(); // All of it: a page that leaves before counts it as a request that failed.
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
// An address pasted into this same tab changes nothing but what stands behind the #, and loads no page.
addEventListener("hashchange", logIn);
