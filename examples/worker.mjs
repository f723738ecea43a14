// A worker in JavaScript: asks a study for pulls over HTTP, evaluates them, and tells it what came out.
//
//     MFBANDIT_TOKEN=... node worker.mjs http://127.0.0.1:8321/ "my study"
const [url, name] = process.argv.slice(2);
const study = new URL(`api/studies/${encodeURIComponent(name)}/`, url);

async function post(what, body) {
  const answer = await fetch(new URL(what, study), {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.MFBANDIT_TOKEN}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// Your evaluation: any number in the range of the problem's rewards. Draw the test case from pull.seed.
async function evaluate(pull) {
  return pull.arm === "good" ? 1 : 0;
}

for (;;) {
  const { pulls, status } = await post("ask", { n: 4, lease_seconds: 60 });
  if (status !== "running" && pulls.length === 0) {
    console.log(`the study is ${status}`);
    break;
  }
  if (pulls.length === 0) await new Promise((next) => setTimeout(next, 200)); // others have what is missing
  for (const pull of pulls) {
    try {
      await post("tell", { pull: pull.id, reward: await evaluate(pull) });
    } catch (error) {
      await post("fail", { pull: pull.id, reason: String(error) });
    }
  }
}
