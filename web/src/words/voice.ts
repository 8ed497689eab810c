/** Words of the voice chat. */

type Value = string | number;

export const holdToTalkSpace = 'Hold to talk (Space)';
export const releaseToSend = 'Release to send';
export const holdToTalk = 'Hold to talk';
export const voice = 'Voice';
export const microphoneMode = 'Microphone mode';
export const pushToTalk = 'Push to talk';
export const openMicrophone = 'Open microphone';
export const close = 'Close';
export const end = 'End';
export const unmute = 'Unmute';
export const mute = 'Mute';
export const interrupt = 'Interrupt';
export const interruptEsc = 'Interrupt (Esc)';
export const canTypeInstead = (reason: Value) => `${reason} You can type instead.`;
export const tryAgain = 'Try again';
export const canReadTheAgentsAnswers = 'You can read the agent’s answers but not hear them: browsers play streamed audio only on https pages and localhost.';
export const hold = 'Hold';
export const buttonWhileYouSpeak = 'or the button while you speak;';
export const interruptsTheAgent = 'interrupts the agent.';
export const demoModelDoesNotUnderstand = 'The demo model does not understand speech: it reports how long and how high a sound was, and answers in tones.';
export const connecting = 'Connecting…';
export const connectionLostReconnecting = 'Connection lost. Reconnecting…';
export const voiceChatHasEnded = 'The voice chat has ended.';
export const speakingAndWaitingForYou = 'Speaking, and waiting for you';
export const waitingForYou = 'Waiting for you';
export const speaking = 'Speaking';
export const listening = 'Listening';
export const working = 'Working…';
export const waitingForTheMicrophone = 'Waiting for the microphone…';
export const noMicrophone = 'No microphone';
export const ready = 'Ready';
export const muted = 'Muted';
