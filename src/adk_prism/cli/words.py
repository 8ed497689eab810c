"""Every sentence that `adk-prism` prints of its own: help, results and notes, by command.

A sentence with values is a template for `str.format`; a test holds its fields against every use. What an
error deep in the library says belongs to the error, and what a setting is to its declaration
(`docs/decisions/0038-words.md`).
"""

from __future__ import annotations

# ---------------------------------------------------------------------- commands

COMMANDS = {
    "serve": "serve ADK apps in every protocol",
    "run": "run an app once and print the result",
    "replay": "print a recording in any protocol, without calling a model",
    "laws": "check that recordings give correct streams in every protocol (the five laws)",
    "fields": "list which ADK and AI SDK fields are supported",
    "types": "print TypeScript types for useChat",
    "view": "show a recording: conversation, timeline, state, graph and more; as JSON in a pipe",
    "compare": "compare two runs; fail in CI if they differ",
    "eval-set": "write recorded runs as an eval set of ADK",
    "eval": "run an eval set; fail in CI if a case fails",
    "rerun": "run messages again with another model or instruction, tools answered from the recording",
    "share": "write a recording as one HTML file",
    "runs": "find recorded runs",
    "export": "send a recorded run as a trace to an OpenTelemetry collector",
    "console": "chat with an app in the terminal",
    "conform": "check whether a server speaks a protocol: ai-sdk, ag-ui, adk or studio",
    "doctor": "show which versions are installed and what works with them; check a running server",
}

# ---------------------------------------------------------------------- progress

STARTING = "Starting the server…"
LOADING = "Loading {app}…"
READING = "Reading {file}…"
CHECKING = "Checking {file}…"
SEARCHING = "Searching…"
COMPARING = "Comparing…"
EVALUATING = "Running the eval set…"
RERUNNING = "Running again…"
SENDING = "Sending the trace…"

# ---------------------------------------------------------------------- serve

SERVE_USAGE = "adk-prism serve [AGENTS_DIR] [OPTIONS]"
SERVE_EPILOG = (
    "Every option can also be set with the environment variable in brackets, or in [tool.adk-prism] of"
    " pyproject.toml. Options of `adk web` are accepted in its spelling."
)

# ---------------------------------------------------------------------- headings of serve --help

SERVER, STORAGE, MODELS, AGENTS = "Server", "Storage", "Models", "Running agents"
VOICE, REMOTE, SECURITY, LIMITS, LOGGING = "Voice", "Remote apps", "Security", "Limits", "Logging"

# ---------------------------------------------------------------------- view

VIEW_FILE = "a recording or saved /run_sse output; - reads stdin"
VIEW_AT = "show the panels at this event (default: the last)"
VIEW_PANEL = "show only this panel (default: all)"
VIEW_FROM = "also show how the state changed since this event"
VIEW_KEY = "also show every write to this state key"
VIEW_JSON = "print JSON with everything; without a terminal this is the default"
VIEW_TEXT = "print readable text; on a terminal this is the default"

PANEL_TITLES = {
    "conversation": "Conversation",
    "timeline": "Timeline",
    "state": "State",
    "graph": "Graph",
    "proof": "Confidence and sources",
    "grounding": "Research plan",
    "artifacts": "Artifacts",
    "nodes": "Agents and tools",
}
RUN_OF = "Run {run} of {app}: {outcome}, event {at} of {last}"
RUNNING = "running"
THINKING = "{speaker} (thinking)"
CHANGES_SINCE = "Changes since event {cursor}"
WRITES_OF = "Writes to {key}"
WRITE = "event {cursor}, {writer}: {value}"
REMOVED = "removed"
NODE_RAN = "{runs}, {took}"
NODE_FAILED = "{runs}, {failures}, {took}"
NO_ARTIFACTS = "No artifact was saved."
ARTIFACT = "{name}, version {version}, saved by {author} at event {cursor}"
RECEIVED = "from {sender}: {value}"
PASSED_ON = "output: {value}"

RUN, FAILURE, STATE_CHANGE = "run", "failure", "state change"
EVENT, CITATION = "event", "citation"
"""Nouns that are counted."""

# ---------------------------------------------------------------------- share

SHARED = "Wrote {path}: {size}, 1 run with {events}. Open it in any browser."

# ---------------------------------------------------------------------- columns of tables

RUNS_HEAD = ("run", "started", "app", "outcome", "tokens", "cost", "seconds", "message")
RERUN_HEAD = (
    *("recorded", "run", "answer", "tools", "state", "outcome", "tokens", "seconds"),
    *("model calls", "cost"),
)

# ---------------------------------------------------------------------- errors

SEE_HELP = "{message}; see {command} --help"
COMMAND_REQUIRED = "a command is required: {commands}; see adk-prism --help"
NOT_IN_THIS_VERSION = "`{name}` is not in this version of adk-prism."
DESCRIPTION = "Serve Google ADK agents to any front end: one recorded run, every protocol."
ABSENT = " (not in this version)"

# ---------------------------------------------------------------------- options of adk web

ADK_TRACING = (
    "traces go to the OpenTelemetry provider of the process: run it with"
    " `opentelemetry-instrument` and an exporter for Google Cloud"
)
ADK_TRIGGERS = (
    "triggers are not built: let Pub/Sub or Eventarc call `adk api_server --trigger_sources`"
)
ADK_EVAL_STORAGE = "eval sets are files beside the agent here, and run with `adk-prism eval`"
ADK_NO_LOCAL_STORAGE = "use --sessions memory:// and --artifacts memory://"
ADK_AVATAR = "video output is not built: serve it with `adk api_server --avatar_config`"
ADK_LOGO = "the page has no logo to change; leave it out"
ADK_REGISTER = "register the agent with `adk api_server` instead"
ADK_REFUSED = "{option} of `adk web` is not supported; {instead}."
VERBOSE = "the same as --log-level debug"
WITH_UI = "accepted as by `adk api_server`; the page is always served"

# ---------------------------------------------------------------------- compare

COMPARE_EPILOG = (
    "Exit codes: 0 compared, 1 something of --fail-on differs, 2 it cannot be compared."
)
TOKENS_OF_RUN = ", {count} tokens"
COST_OF_RUN = ", cost {cost}"
COMPARE_FAIL_ON = (
    "exit with 1 if this differs; repeatable. tools: calls, arguments and how calls ended"
)
COMPARE_JSON = "print the whole comparison as JSON"
DIFFER = "the runs differ in: {aspects}"
RUNS_DIFFER = "The runs differ in: {aspects}."
RUNS_SAME = "The runs are the same."
ANSWERS_DIFFER = "~ answer: {both}"
RUN_OR_FILE = "a run's id, or a recording; - reads stdin"
STATE_DIFFERS = "{sign} state {key}: {both}"

# ---------------------------------------------------------------------- console

NO_TEXTUAL = 'the console needs textual; install it with: pip install "adk-prism[console]"'
APP_EXAMPLE = "; for example: adk-prism console {app}"
APP_REQUIRED = "an app is required: {apps}{example}."
CONSOLE_APP = "name of the app (default: choose from a list)"
CONSOLE_URL = "URL of a running server (default: start one in this process)"
CONSOLE_TOKEN_FILE = "file with your access token for the server at --url"
TOKEN = "your access token; prefer {variable}, which ps does not show"
CONSOLE_SESSION = "continue this session (default: a new one)"
AGENTS_DIR = "folder of ADK apps (default: the example apps)"
URL_OR_DIR = "--url and --dir cannot be used together: the server at --url has its own apps."
NO_APP = "There is no app {app!r}. Available apps: {apps}."
TOKEN_NEEDS_URL_HERE = (
    "--token and --token-file need --url: without it the console starts its own server."
)
CANNOT_CONNECT_START = "cannot connect to {url}: {why} Start it with: adk-prism serve"

# ---------------------------------------------------------------------- console in a pipe

PIPE_ADVICE = (
    "Answer with /approve or /deny (a search plan: /ok, /short, /modify TEXT, /cancel), or"
    " type the requested value."
)
ALSO_ASKED = "{name} also needs an answer."
WRITTEN = "Written to {file}."
RECONNECTING = "{why} Reconnecting in {wait:g} s."
RECONNECTED = "Reconnected."

# ---------------------------------------------------------------------- eval

EVAL_EPILOG = "Exit codes: 0 every case passed, 1 one did not, 2 the set cannot be run."
THRESHOLD = " (at least {threshold:g})"
EVAL_SET_FILE = "file of an eval set, e.g. weather.evalset.json"
EVAL_APP = (
    "folder of the agent, or name of an app of --url or of an example (default: the folder of SET)"
)
EVAL_CONFIG = (
    "criteria, as for adk eval (default: test_config.json beside SET, else those of adk eval)"
)
EVAL_CASE = "run only this case; repeatable"
EVAL_ANSWERS = "recorded: give approvals and results of client tools again; approved tools run"
EVAL_JSON = "print the results as JSON"
EVAL_JUNIT = "also write the results as JUnit XML, for CI"
CASES_FAILED = "{missed} of {cases} cases did not pass"
SET_NAMES_NO_APP = "The set does not say which app it is for; name the agent's folder."
CASES_PASSED = "{name}: {passed} of {cases} passed"
CANNOT_READ = "{file} cannot be read: {why}."
NOT_JSON = "{file} is not JSON."
NO_FOLDER = "There is no folder {folder!r}."
CASE_RUN = "  run {run}"

# ---------------------------------------------------------------------- eval-set

EVAL_SET_EPILOG = (
    "A run becomes a case with the whole conversation up to it; of several runs of one"
    " conversation, the last one counts. Recordings of one session are one conversation."
)
CASES_ADDED = "{file}: {count} added"
EVAL_SET_OUTPUT = (
    "the eval set, e.g. agents/my_agent/weather.evalset.json; cases are added to one that exists"
)
EVAL_SET_NAME = "id of a new set (default: the file's name)"
CASE_KEPT = "already in the set, left unchanged: {case}"

# ---------------------------------------------------------------------- export

EXPORTED = "{spans} spans, trace {trace}"
EXPORT_OTLP = (
    "OTLP over HTTP, e.g. http://127.0.0.1:6006 for Phoenix; /v1/traces is added to a bare address"
)
EXPORT_HEADER = "header for the collector, e.g. authorization='Bearer …'; repeatable"
NO_TIMES = "The run has no times, so it cannot be a trace."
BAD_HEADER = "--header must be NAME=VALUE."
TRACE_REFUSED = "{url} refused the trace: HTTP {status}."
NO_ANSWER = "{url} does not answer."

# ---------------------------------------------------------------------- fields

FIELDS_COVERAGE = "coverage: {decided} of {total}, {share:.1%}"
FIELDS_CHECK = "print only fields without a decision; exit 1 if there are any"
FIELDS_JSON = "print every field with its disposition as JSON"
FIELDS_DECIDED = (
    "All decided: {fields} fields and values, {chunks} chunk keys, {events} event keys."
)
FIELDS_OF = "fields of {packages}"
CHUNK_KEYS = "chunk keys of {origin}"
EVENT_KEYS = "event keys of {origin}"

# ---------------------------------------------------------------------- files

CANNOT_WRITE = "{file} cannot be written: {why}."
RUN_NAMED = "run {run}"

# ---------------------------------------------------------------------- laws

LAWS_FILE = "a recording, ADK events as JSON lines, or saved /run_sse output"
LAWS_HOLD = "{file}: {laws} laws hold, {entries} entries, {protocols}"

# ---------------------------------------------------------------------- where runs are

SERVER_URL = "URL of a running server"
RUN_LOG = (
    "run log: sqlite:///FILE or redis://HOST (default: the one that adk-prism serve uses here)"
)
TOKEN_FILE = "file with your access token for --url"
TOKEN_NEEDS_URL = "--token and --token-file need --url."
CANNOT_CONNECT = "cannot connect to {url}: {why}"

# ---------------------------------------------------------------------- own server

OWN_SERVER_FAILED = "the command's own server did not start; see the messages above."

# ---------------------------------------------------------------------- costs

PRICES = (
    "JSON file with prices of models per million tokens; shows what runs cost [ADK_PRISM_PRICES]"
)

# ---------------------------------------------------------------------- a run as text

CANNOT_ANSWER = (
    "This command cannot answer. Start `adk-prism serve`, and send the message and the answer"
    " in a chat client."
)
BYTES = "{count} bytes"
NEEDS_APPROVAL = "?? {tool} needs approval"
APPROVAL_OF = "approval of {tool}"
RESULT_OF = "the result of {tool}"
YOU = "you: {text}"
CALL_FAILED = "<- {tool} failed: {error}"
CALL_DENIED = "<- {tool} was denied{reason}"
CALL_STOPPED = "<- {tool} stopped before it returned"
REQUESTED = "?? {kind} requested: {request}"
FILE_LINE = "[file {file}]"
AUDIO_LINE = "[audio {bytes} bytes, {rate} Hz]"
CODE_LINE = "[code {code}]"
RESULT_LINE = "[result {result}]"
WAS_INTERRUPTED = "[{agent} was interrupted]"
STATE_LINE = "[state {state}]"
SAVED_LINE = "[saved {name}, version {version}]"
TRANSFER_LINE = "[transfer to {agent}]"
OUTPUT_LINE = "[output of {agent}: {output}]"
UNKNOWN_LINE = "[unknown {kind}: {raw}]"
TEXT_REPLACED = "(the text above was replaced by the following)"
THINKING_MARK = "(thinking) "
NO_CONFIDENCE = "no confidence stated"
COST_UNKNOWN = "cost unknown: a model has no price"
COST = "cost {cost:.6f}"
WAITING_FOR = "The run is waiting for {asked}."
YOU_YES = "you: yes"
YOU_NO = "you: no"
SPENT = "[{tokens} tokens, {cost}]"
CANCELLED = "The run was cancelled."
AN_ANSWER = "an answer"

# ---------------------------------------------------------------------- replay

REPLAY_FILE = "a recording, ADK events as JSON lines, or saved /run_sse output; - reads stdin"
REPLAY_AFTER = "start after a frame (12.3) or an entry (12)"
REPLAY_DIALECT = (
    "version of the protocol; ai-sdk has 6 (default), 7 and 5; ag-ui 0.0.59 (default) and 1.0"
)
REPLAY_RAW = "ag-ui: send ADK's own events too, as RAW events"

# ---------------------------------------------------------------------- rerun

RERUN_EPILOG = (
    "Exit codes: 0 run and compared; 1 something of --fail-on differs, or a run failed that"
    " had not; 2 a run cannot be run again."
)
RERUN_MODEL = "use this model for all agents"
RERUN_INSTRUCTION = "give an agent this instruction, from a text file; repeatable"
RERUN_TOOLS = "recorded: answer tools from the recording (default); live: call them"
RERUN_OUT = "data folder for the new runs (default: a temporary one); not with --url"
RERUN_FAIL_ON = "exit with 1 if this differs; repeatable"
RERUN_JSON = "print the comparisons as JSON"
URL_IS_FOR_RUNS = "--url is for runs of the server; {file!r} is a file."
URL_OR_OUT = "--url cannot be combined with --out or --dir: the server has its own."
ONE_RUN_IN_A_RECORDING = (
    "a recording has one run: it begins with the state that it recorded, without earlier messages"
)
HAS_NUL = "{file} is not a text file: it has NUL characters."
FAILED_NOW = "these runs failed now, but not when they were recorded: {runs}"
NOT_RUN = "not run"
ONE_SIDE_ONLY = "one side only"
BAD_INSTRUCTION = "--instruction must be AGENT=FILE, got {given!r}."
INSTRUCTION_TWICE = "--instruction names the agent {agent!r} twice."
FILE_TOO_LARGE = "{file} is larger than {limit} bytes."
NOT_UTF8 = "{file} is not a text file in UTF-8."
RERUN_WAITS = "{run} is waiting: the recording has no answer to what it asks."

# ---------------------------------------------------------------------- places of rerun

RERUN_IN = "The runs are in {folder}; look at them with: adk-prism serve --data-dir {folder}"
RUN_NOT_OVER = "Run {run!r} is not over yet. Wait until it is, or stop it."
NO_RUN_IN = "{file}: there is no run in it."
NO_RERUN_OF_CAPTURE = (
    "{file} is a capture of events, which does not say which app answered what: only"
    " recordings of adk-prism can be run again."
)
RUN_IN_FILE_NOT_OVER = "{file}: the run in it is not over."

# ---------------------------------------------------------------------- run

RUN_APP = "name of the app, e.g. tour"
RUN_MESSAGE = "message to send, e.g. help"
RUN_AS = "write the exact bytes of {protocols}"
RUN_SESSION = "continue this session, stored under {folder}/ [ADK_PRISM_DATA_DIR]"
RUN_STATE = "set a state key before the run; repeatable"
RUN_ERRORS = "full: also print the traceback of an exception [ADK_PRISM_ERRORS]"
BAD_STATE = "--state must be KEY=JSON, e.g. --state 'city=\"Rome\"', got {given!r}."

# ---------------------------------------------------------------------- runs

SOME_NOT_SEARCHED = (
    "some runs could not be searched: they are not indexed yet, or too old to be searched"
)
OF_APP = "name of the app"
OF_USER = "name of the user"
OF_SESSION = "id of the session"
RUNS_LIMIT = "show at most this many runs, up to {most}"
RUNS_JSON = "print JSON, as GET /api/runs answers"
BAD_LIMIT = "--limit must be from 1 to {most}, got {given}."
RUNS_SUM = "{runs} runs, {tokens} tokens{cost}"
NO_RUN_FOUND = "No matching runs."

# ---------------------------------------------------------------------- serve

CANNOT_LISTEN = "cannot listen on {address}: {why}."
ADDRESS_IN_USE = "{address} is already in use; stop the other server, or choose another --port."
NO_APPS = "no apps"
NONE_HERE = "none"
SERVING = "adk-prism on http://{host}:{port} serving {apps}"
DEFAULT = " (default: {value})"

# ---------------------------------------------------------------------- share

SHARE_OUTPUT = "file to write; - writes to stdout"
SHARE_MODEL_CALLS = "include what was sent to models, if the recording has it"

# ---------------------------------------------------------------------- stored runs

NO_FILE = "There is no file {file!r}."

# ---------------------------------------------------------------------- types

TYPES_EPILOG = "Write the output to a file of your project: adk-prism types my_app > prism.ts"
TYPES_APP = "also print the types of this app's tools"
NO_TYPES = "No types for {tool} of {agent}: {why}"
DIR_NEEDS_APP = "--dir needs an APP: adk-prism types APP --dir AGENTS_DIR"

# ---------------------------------------------------------------------- workers

OUTPUT_LOST = "adk-prism: {count} bytes could not be written ({why}).\n"
CANCELLED_WHILE_STOPPING = "Agent code cancelled the server while it was stopping. Start it again."
WORKER_DIED = "adk-prism: worker {number} died (exit code {code}); restarting it."

# ---------------------------------------------------------------------- conform

CONFORM_URL = "where a client posts to; of ADK and adk-prism the server's address"
CONFORM_AS = "protocol that the server speaks"
CONFORM_APP = "app of an ADK or adk-prism server"
CONFORM_PROMPT = (
    "message to send, default {prompt!r}; repeatable, to lead to tool calls and approvals"
)
CONFORM_HEADER = "header for every request, e.g. authorization='Bearer …'; repeatable, never shown"
CONFORM_APPROVE = "approve what the server asks to approve; otherwise it is denied"
CONFORM_EXCEPT = "leave a check out; repeatable"
CONFORM_CLIENT = (
    "require the npm client in DIR/node_modules; by default this folder's is used if it is there"
)
CONFORM_TIMEOUT = "seconds for one answer"
CONFORM_JSON = "print the report as JSON"
CONFORM_JUNIT = "write the report as a JUnit file, too"
CONFORM_LIST = "list the checks and stop"
CONFORM_NEEDS_URL = "conform needs the URL of a server; see adk-prism conform --help"
BAD_TIMEOUT = "--timeout must be from 0 to 3600 seconds, got {given:g}."
BAD_ASCII_HEADER = "--header must be NAME=VALUE, in printable ASCII."
NOT_TRIED = "could not be tried: {why}"

# ---------------------------------------------------------------------- doctor

DOCTOR_URL = (
    "a running server, looked at from here instead: buffering, CORS, prefix, sockets and more"
)
DOCTOR_ORIGIN = (
    "origin of a page that calls the server from elsewhere, e.g. https://app.example.com"
)
DOCTOR_IDLE = (
    "seconds of silence to try, 0 for none; default: a second more than the server's keep-alive"
)
DOCTOR_TOKEN_FILE = "file with your access token for the server"
BAD_IDLE = "--idle must be from 0 to {most:g} seconds, got {given:g}."
BAD_PAGE_ORIGIN = "--origin must be the origin of a page, e.g. https://app.example.com."
DOCTOR_REMEDY = " Remedy: {remedy}"
DOCTOR_PACKAGES = ("package", "installed", "supported")
DOCTOR_CAPABILITIES = ("capability", "", "what it is for")
DOCTOR_STATES = {True: "on", False: "off"}
DOCTOR_ABSENT = "not installed"
DOCTOR_OFF = "\n{name} is off: {problem}\nWithout it: {without}."
