"""A tool that needs a sign-in."""

from fastapi.openapi.models import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from google.adk.agents import LlmAgent
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools import ToolContext

PLACE = "https://example.com/"
FLOW = OAuthFlowAuthorizationCode(
    authorizationUrl=PLACE + "auth", tokenUrl=PLACE + "token", scopes={"read": "Read."}
)
SIGN_IN = AuthConfig(
    auth_scheme=OAuth2(flows=OAuthFlows(authorizationCode=FLOW)),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(client_id="me")
    ),
)


def read(day: str, tool_context: ToolContext) -> dict[str, str]:
    """Read the calendar."""
    tool_context.request_credential(SIGN_IN)
    return {"status": "waiting"}


root_agent = LlmAgent(name="credential", model="gemini-2.5-flash", tools=[read])
