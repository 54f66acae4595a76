// The secret that each call carries. It is no cookie: browsers would send it to every port of this machine. It is kept
// for this tab, so that a page can be loaded again, and tabs of the same origin give it to each other.

const HEADER = "X-Headway-Board", KEPT = "headway-board", LINK = /^#token=(.+)$/, ANSWER_MS = 300;

let secret = sessionStorage.getItem(KEPT), found = () => {};
const tabs = new BroadcastChannel("headway-board");

tabs.onmessage = ({ data }) => {
  if (data.secret) keep(data.secret);
  else if (secret) tabs.postMessage({ secret });
};

function keep(given) {
  secret = given;
  sessionStorage.setItem(KEPT, secret);
  found();
}

// Gets the secret, from the link with which the page was opened or from another tab. Throws if the link is refused, unless the
// tab has a secret already.
export async function enter() {
  const token = location.hash.match(LINK)?.[1];
  if (token) {
    // The link stays neither in the address nor in the history of the tab.
    history.replaceState(null, "", location.pathname);
    const body = JSON.stringify({ token });
    const answer = await fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body, credentials: "omit" });
    const document = await answer.json();
    if (answer.ok) {
      keep(document.secret);
      // Tabs of a board that was started again on the same port have an old one.
      tabs.postMessage({ secret });
    } else if (!secret) throw new Error(document.error);
  } else if (!secret) {
    const answered = new Promise((resolve) => { found = resolve; setTimeout(resolve, ANSWER_MS); });
    tabs.postMessage({});
    await answered;
  }
}

export function call(path, { headers = {}, ...options } = {}) {
  return fetch(path, { ...options, headers: { ...headers, ...(secret ? { [HEADER]: secret } : {}) }, credentials: "omit", cache: "no-store" });
}
