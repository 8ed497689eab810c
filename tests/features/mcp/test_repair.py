"""A whole repair by the official MCP client, as the guide shows it: find, explain, fork, patch, prove."""

from __future__ import annotations

import re
from pathlib import Path

from tests.adk.app_folders import write_app
from tests.end_to_end.server import serving
from tests.features.mcp.test_mcp import PACKAGES, ROOT, drive

APP = "prism_test_till"
CODE = '''
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class Clerk(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        told = str(llm_request.config.system_instruction)
        currency = "euros" if "euros" in told else "dollars"
        if last.function_response:
            part = types.Part(text=f"It costs {last.function_response.response['price']} {currency}.")
        else:
            part = types.Part(function_call=types.FunctionCall(name="price", args={"of": last.text}))
        yield LlmResponse(content=types.ModelContent(part))

def price(of: str) -> dict:
    """Look up a price, in euros."""
    return {"price": len(of)}

root_agent = LlmAgent(
    name="till", model=Clerk(model="clerk"), instruction="Name the price.", tools=[price]
)
'''
BETTER = {"till": "Name the price in euros."}
RUN = r"run (run-[0-9a-f]+) of"


def test_a_repair(tmp_path: Path) -> None:
    """The cause is found in what the model was asked; the patch is proved on the run that was wrong."""
    agents = tmp_path / "agents"
    agents.mkdir()
    write_app(agents, APP, CODE)
    with serving(
        tmp_path, "--mcp-allow-run", "--model-calls", "full", agents=agents, packages=PACKAGES
    ) as server:
        server.http.post("/api/studio/" + APP + "/stream", json={"input": "pears"})
        found = drive(
            server,
            "http",
            steps=[
                ["find_runs", {"text": "dollars"}, ["run", r"(run-[0-9a-f]+)"]],
                ["read_run", {"run": "$run"}],
                ["model_request", {"run": "$run"}],
                ["fork_run", {"run": "$run", "cursor": 1, "message": "apples"}],
                ["run_again", {"run": "$run", "instructions": BETTER}, ["new", RUN]],
                ["compare_runs", {"a": "$run", "b": "$new"}],
                ["add_eval_case", {"app": APP, "set_id": "prices", "run": "$new"}],
                ["run_eval_set", {"app": APP, "set_id": "none"}],
            ],
        )
        [refused] = [text for _, failed, text in found["results"] if failed]
        assert "no eval set 'none'" in refused
        texts = [text for _, _, text in found["results"]]
        assert "It costs 5 dollars." in texts[1]
        assert "Name the price." in texts[2]
        assert "euros" in texts[2]  # of the tool: what the instruction does not say
        assert "It costs 6 dollars." in texts[3]
        assert "It costs 5 euros." in texts[4]
        assert "It costs 5 euros." in texts[5]
        assert f"link: {server.url}/#/compare/run-" in texts[5]
        assert (agents / APP / "prices.evalset.json").is_file()
    guide = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
    shown = re.findall(r"^> (\w+) \{", guide, re.MULTILINE)
    assert shown == [tool for tool, failed, _ in found["results"] if not failed]
