"""Every sentence that the console shows of its own: panels, questions, keys, errors about what was typed.

A sentence with values is a template for `str.format`; a test holds its fields against every use
(`docs/decisions/0038-words.md`).
"""

from __future__ import annotations

# ---------------------------------------------------------------------- app-picker

QUIT = "Quit"
CHOOSE_APP = "Choose an app on {server}"
PICKER_KEYS = "↑ ↓: select  Enter: open  q: quit"

# ---------------------------------------------------------------------- server

TOKEN_REQUIRED = (
    "The server requires a token. Set ADK_PRISM_TOKEN, or pass a file with --token-file."
)
TOKEN_REJECTED = (
    "The server rejected your token: it is wrong or has expired. Ask the operator for a new one."
)
UNREACHABLE = "Server unreachable"
REFUSED = "Refused"
NO_ANSWER = "The server does not answer."
SILENT = "The server has sent nothing for {seconds:.0f} seconds."
BAD_URL = "--url must be a URL such as http://127.0.0.1:8000, got {given!r}."
RETURNED = "The server returned {status} {reason}."
INVALID_URL = "The server URL is not valid: {why}."
NOT_JSON = "{url} did not return JSON. Is it an adk-prism server?"
CONNECTION_LOST = "The connection was lost."
STREAM_LOST = "The server could not continue the stream."

# ---------------------------------------------------------------------- commands

ESCAPE_KEY = "Esc"
HELP_OK = "search as planned"
HELP_SHORT = "run the plan for its first results only"
HELP_MODIFY = "change the plan"
HELP_CANCEL = "cancel the plan"
HELP_REMEDY = "choose a remedy: 1 to 9"
HELP_APPROVE = "approve the pending tool call"
HELP_DENY = "deny the pending tool call"
HELP_ASSUME = "add an assumption"
HELP_UNASSUME = "remove an assumption"
HELP_ASK = "add an open question"
HELP_UNASK = "remove an open question"
HELP_EXPORT = "write the search strategy to a file"
HELP_PLAN = "show the research plan"
HELP_HISTORY = "show all searches"
HELP_TIMELINE = "show when each agent and tool ran"
HELP_STATE = "show the session's state"
HELP_PROOF = "show confidence and sources"
HELP_HELP = "show this list"
HELP_STOP = "stop the run"
UNKNOWN_COMMAND = (
    "Unknown command /{name}. /help lists the commands; //{text} sends it as a message."
)
NEEDS_ARGUMENT = "/{command} needs {argument}: {help}."
TAKES_NO_ARGUMENT = "/{command} takes no argument, got {given!r}."

# ---------------------------------------------------------------------- sign-in

SIGN_IN = "A tool needs you to sign in. Enter {what}."
REDIRECT_URL = "the redirect URL"
API_KEY = "the API key"
TOKEN_OR_KEY = "the token or key"
SIGN_IN_AT = "A tool needs you to sign in. Open\n{address}\nand paste {what} here."

# ---------------------------------------------------------------------- answers and edits

STILL_RUNNING = "The app is still running. Wait until it finishes, or stop it with /stop."
NOTHING_TO_APPROVE = "There is nothing to approve."
NO_PLAN_TO_ANSWER = "There is no search plan to answer."
EXPECTED_ONE_OF = "expected one of {numbers}"
NONE_OFFERED = "none is offered"
NO_REMEDY = "There is no remedy {given!r}; {expected}."
TEXT_TOO_LONG = "The text has {length} characters; at most {limit} are allowed."
ALREADY_LISTED = "{text!r} is already in the list."
EXPECTED_UP_TO = "expected 1 to {count}"
LIST_IS_EMPTY = "the list is empty"
NO_ITEM = "There is no item {given!r}; {expected}."
NO_RUN_TO_STOP = "There is no run to stop."

# ---------------------------------------------------------------------- small research plan

STAGE_LINE = "Stage: {stage}"
PLAN_LINE = "SEARCH PLAN {database}: {query}"
ASSUMES = "Assumes"
OPEN = "Open"
EXPECTS = " – expects {expected}"
IN_DATABASES = " in {databases}"
QUESTION_LINE = "Question: {question}"
FILTERS_LINE = "Filters: {filters}"
NEXT_LINE = "Next: {step}"
VALUES_UNREADABLE = "! {values} cannot be read: [g]"
HELP_LINE = "SEARCH HELP {kind}: {context}"

# ---------------------------------------------------------------------- conversation

CALL_RUNS = "… running"
CALL_FAILED = "✗ failed: "
CALL_DENIED = "✗ denied: "
YOU = "you: "
THINKING = " (thinking)"
CALL_STOPPED = "✗ stopped before it returned"
CALL_ASKS = "? needs your approval "

# ---------------------------------------------------------------------- grounding

PLAN_KEYS = "[o] OK · [s] Short run · [m] Modify · [c] Cancel"
FOUND = "Found: {papers}{databases}"
SHORT_RUN = " (short run)"
NEW_PAPERS = ", {count} new"
FILTERS = "Filters"
EXPECTED = "Expected"
YEARS = "Years"
APPROVED = "Approved"
NEXT = "Next"
DUE = " (due {date})"
NOT_VALID = "! {key} is not valid: {why} {value}"
REMOVED_ITEM = "removed: {item}"
QUESTION = "Question"
PLAN_TITLE = "{mark}SEARCH PLAN – waiting for you"
HELP_TITLE = "{mark}SEARCH HELP – {kind}"
EARLIER_SEARCH = "earlier search"
NO_RESEARCH_PLAN = "This app has no research plan."
NO_SEARCHES = "No searches yet."
STAGE = "Stage"
EARLIER_SEARCHES = "  {searches}: [h] history"

# ---------------------------------------------------------------------- proof

NO_PROOF = "No confidence or source was stated."
NO_CONFIDENCE = "no confidence stated"
CITED_BY = " (by {users})"
WHOLE_ANSWER = "Whole answer"
NO_PROOF_YET = "Nothing yet. Confidence and sources appear when a run ends."
WEAKEST_FIRST = "Sections, weakest first"
SECTION = "section"
SOURCE = "source"
RESTS_ON = "rests on {sources}"
NO_SOURCE = "has no recorded source"
CONFIDENCE = "confidence {sure}"
RAISES = "What would raise {name}:"
WORKED_OUT = "How it was worked out: {name}"
NO_CITATION = "  ! no source: {claim}"
DISAGREES = "  ! {claim}: {relation} than its parts"

# ---------------------------------------------------------------------- registry

HELP_GROUP_PLAN = "Pending search plan or search help"
HELP_GROUP_CALL = "Pending tool call"
HELP_GROUP_BOX = "Research plan (changes reach the model with your next message)"
HELP_GROUP_PANELS = "Panels"
HELP_GROUP_RUN = "Run"
ALL_T = "[t] all"
ALL_P = "[p] all"
ALL_V = "[v] all"
HELP_PANEL = "HELP"
HELP_TYPING = (
    "Type a message and press Enter. Command keys work outside the input line: press Tab to"
    " leave it,"
)
HELP_COMMANDS = (
    "Enter or / to return. A line that starts with / is a command; // sends a leading slash."
)
MORE_ROWS = "  {count} more rows: {key}"

# ---------------------------------------------------------------------- state

KEY_LINE = "{key} = {value}  by {writer}"
KEY_REMOVED = "{key} removed, was {value}"
EMPTY_STATE = "The session's state is empty."
WAS = "was {value}"

# ---------------------------------------------------------------------- timeline

WAITED = "? waited for {kind} {time}"
NO_RUN = "No run yet"
WAITS = "? waits for {kind} since {time}"
NO_RUN_YET = "No run yet. Send a message first."
MORE = "{count} more"
INFERRED = "~ inferred from the events"

# ---------------------------------------------------------------------- questions

ANSWER_MUST_BE_OBJECT = "The answer must be a JSON object with {fields}."
OPTIONAL = ", optional"

# ---------------------------------------------------------------------- rows

MILLISECONDS = "{number:.0f} ms"

# ---------------------------------------------------------------------- run-follower

NOT_AN_EVENT = "The server sent data that is not an ADK event. Is it an adk-prism server?"
NO_RUN_ID = "The server sent no run id. Is it an adk-prism server?"

# ---------------------------------------------------------------------- screen

TYPE_HERE = "Type a message, or /help"
KEYS_HERE = "Keys are commands; press Enter or / to type"
KEYS = "Tab: command keys  ?: help  q: quit"
KEYS_IDLE = "{keys}  t: timeline  v: state  p: proof"
AS_USER = " as {user}"
OPENING = "Opening the session…"
KEYS_RUNNING = "Esc: stop  {keys}"
KEYS_APPROVAL = "[y] approve  [n] deny  {keys}"
KEYS_REMEDIES = "[1-{count}] choose a remedy  {keys}"
SENDING = "Sending: {line}"
UNSENT = "Cancelled. The message was probably not sent."
WILL_BE_SENT = " Your message will be sent then."
RECONNECTING = "! {why} Reconnecting in {wait:g} s.{kept}"
RECONNECTED = "Reconnected."
OPERATOR = "operator: {line}"
STOPPING = "Stopping…"
RUNNING = "Running… Esc stops it"
ASKS_APPROVAL = "? {tool} needs your approval{more}"
ASKS_INPUT = "? {tool}{more} – type {what}"
ASKS_SIGN_IN = "? Sign-in needed{more} – enter {what}"
ASKS_RESULT = "? Run {tool} yourself{more} and type its result"
PENDING = " ({count} pending)"
PRESS_Q_AGAIN = "Press q again to quit."
WRITTEN = "Written to {file}."

# ---------------------------------------------------------------------- search-strategy

WHEN = "When"
DATABASE = "Database"
QUERY = "Query"
FOUND_COLUMN = "Found"
NEW_COLUMN = "New"
STRATEGY_TITLE = "# Search strategy"
STRATEGY_QUESTION = "**Question:** {question}"
STRATEGY_STAGE = "**Stage:** {stage}"
RECORDS_IDENTIFIED = "- Records identified: {records} in {searches} searches"
NO_STRATEGY = "This session has no search strategy: the app has no research plan."
ASSUMPTIONS = "Assumptions"
OPEN_QUESTIONS = "Open questions"
DUPLICATES = "- Duplicates removed: {count}"
DISTINCT = "- Distinct papers: {count}"
SEARCHED = "- {database}: {records} in {searches} searches"
NONE_YET = "None yet."
FILE_EXISTS = "{file!r} already exists; choose another file name."
CANNOT_WRITE = "{file!r} cannot be written: {why}."

# ---------------------------------------------------------------------- session

NO_APP = "There is no app {app!r}. Available apps: {apps}."
SESSION_LOST = "The server no longer has this session. A new one was started."

# ---------------------------------------------------------------------- token

ONE_TOKEN = "--token and --token-file cannot be used together; pass one of them."
BAD_TOKEN = "{source} must be one token: ASCII characters without spaces, at most {limit} of them."
TOKEN_FILE_NOT_TEXT = "--token-file {file!r} is not a text file; it must contain the token only."
TOKEN_FILE_UNREADABLE = "--token-file {file!r} cannot be read: {why}."

# ---------------------------------------------------------------------- transcript

BYTES = "{count} bytes"
INPUT_REQUESTED = "input requested: {question}"
CODE = "code {code}"
RESULT = "result {result}"
SAVED = "saved {name}, version {version}"
TRANSFER = "transfer to {agent}"
INTERRUPTED = "{agent} was interrupted"
UNKNOWN = "unknown {kind}: {raw}"
MESSAGES_REMOVED = "Later messages were removed."
STATE_SET = "state: {keys}"
FILE = "file {name} {type} {size}"
RUN_STOPPED = "The run was stopped."

# ---------------------------------------------------------------------- small research plan

NOT_SET = "not set"

# ---------------------------------------------------------------------- screen

YOUR_ANSWER = "your answer"

# ---------------------------------------------------------------------- search-strategy

NOT_STATED = "not stated"
