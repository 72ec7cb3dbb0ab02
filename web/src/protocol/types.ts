// Written by scripts/web_types.py from the protocol's JSON Schema. `make docs` renews it.

export const PROTOCOL_VERSION = "1.0"

/** Who may open a session. */
export interface AccessTold {
  owner?: PersonName | null
  team?: TeamName | null
  members?: PersonName[]
  links?: LinkInfo[]
  guests?: GuestInfo[]
  here?: string[]
  shares?: boolean
  works?: boolean
}

/** What one agent used on a day, or in a month. */
export interface AgentDay {
  agent: string
  key: string
  tokens: number
  cost_usd: number
}

/** What one agent left. */
export interface AgentHistory {
  agent: "aider" | "claude" | "codex" | "gemini" | "goose" | "opencode"
  title: string
  places: string[]
  sessions?: number
  bytes?: number
  oldest?: number
  newest?: number
  fresh?: number
  brought_at?: number
}

/** One session of a tree. */
export interface AgentInfo {
  session: SessionInfo
  depth?: number
  running?: boolean
  background?: boolean
  tree_cost_usd?: number
  tree_unpriced?: number
  copy?: string
  detail?: string
  ended?: "budget" | "cancelled" | "done" | "error" | "interrupted" | "loop" | "max_tokens" | "refused" | "step_limit" | "time_limit" | null
  error?: ErrorInfo | null
  took_ms?: number
}

/** How an agent performs. */
export interface AgentMetrics {
  id: string
  name: string
  status: "error" | "executing_tool" | "idle" | "interrupted" | "thinking" | "unanswered" | "waiting_approval"
  uptime_s: number
  messages: number
  turns: number
  usage: SessionUsage
  avg_response_ms?: number
  tokens_per_second?: number
  tools_used?: Record<string, number>
  error_rate?: number
  failed_turns?: number
  template?: string
  parent?: string
  model?: string
  jail?: JailUse | null
}

/** How a sub-agent ended. */
export interface AgentRun {
  session?: string
  template?: string
  reason?: string
  cost_usd?: number
  changed?: string[]
  conflicts?: string[]
  copy?: string
}

/** Sessions with those that work for them. */
export interface AgentTree {
  agents: AgentInfo[]
}

/** Sessions and their sub-agents. */
export interface AgentsList {
  op: "agents.list"
  id: string
  session?: string
  limit?: number
}

/** How agents perform. */
export interface AgentsMetrics {
  agents: AgentMetrics[]
}

/** What all agents on this machine used, OpenAgent among them. */
export interface AllUsage {
  by: "agent" | "day" | "model" | "month" | "project"
  rows: UsageRow[]
  total: UsageRow
  agents: UsageRow[]
  parts?: AgentDay[]
  unread?: number
  left_out?: LeftOut[]
}

export type AnyEvent = Reply | Failed | SessionCreated | SessionUpdated | SessionDeleted | TurnStarted | TurnCompleted | StatusChanged | TextDelta | ThinkingDelta | LiveState | MessageAdded | MessageQueued | TurnWaiting | SessionPresence | QueueChanged | ToolStarted | ToolOutput | ToolFinished | PermissionRequested | PermissionResolved | PermissionNoted | QuestionAsked | QuestionAnswered | AsksLapsed | PlanUpdated | UsageUpdated | BudgetWarning | BudgetExceeded | ContextThreshold | ContextCollected | ContextRestored | ContextPinned | ContextShown | IntentDetected | RetryScheduled | ProviderFailedOver | ModelRouted | LoginRequired | PullProgress | IndexProgress | IndexUpdated | HistoryProgress | HistoryImported | SubagentStarted | SubagentProgress | SubagentFinished | FlowStarted | FlowStepped | FlowFinished | CheckpointCreated | CheckpointRestored | McpServerStatus | McpServerLate | TaskUpdated | BackgroundStarted | BackgroundFinished | ShellReplaced | TerminalOutput | TerminalExited | Metrics | HookRan | ErrorRaised | ConnectionClosing

/** Have the agent ask again for what nobody answered in time, or let it go. */
export interface AskAgain {
  op: "ask.again"
  id: string
  session: string
  drop?: boolean
}

/** What nobody answered in time is something else now. */
export interface AsksLapsed {
  type: "asks.lapsed"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  lapsed: LapsedAsk[]
}

/** What agents wait for a person to say, the longest waiting first. */
export interface AsksList {
  op: "asks.list"
  id: string
  session?: string
}

/** Either a snapshot, or (`snapshot` is null) the missed events follow this reply. */
export interface Attached {
  session: string
  seq: number
  snapshot?: Snapshot | null
}

/** What was decided, run and written, newest first. */
export interface AuditAsk {
  op: "audit.list"
  id: string
  session?: string
  kind?: string
  tool?: string
  since?: number
  limit?: number
  before?: number | null
}

/** Newest first. */
export interface AuditPage {
  entries: AuditRow[]
  next?: number | null
}

/** Something that was decided, done or changed. */
export interface AuditRow {
  id: number
  at: number
  session: string
  kind: string
  subject: string
  detail?: Record<string, unknown>
}

/** Keep an API key in the vault, under the name of the provider it is for. */
export interface AuthAdd {
  op: "auth.add"
  id: string
  name: string
  key: string
  replace?: boolean
  test?: boolean
}

/** Credentials. */
export interface AuthEntries {
  entries: AuthEntry[]
  servers?: AuthEntry[]
  templates?: LoginTemplate[]
}

/** A credential, as far as anybody may see it. */
export interface AuthEntry {
  name: string
  kind: "api_key" | "oauth"
  source?: "config" | "environment" | "vault"
  created_at?: number
  updated_at?: number
  last_used_at?: number | null
  use_count?: number
  expires_at?: number | null
  dead?: string
  mend?: string
}

/** The credentials, as far as anybody may see them. */
export interface AuthList {
  op: "auth.list"
  id: string
  cwd?: string
}

/** Start a login. It ends when the browser comes back to the daemon, or with `auth.login.finish`. */
export interface AuthLogin {
  op: "auth.login"
  id: string
  provider: string
  cwd?: string
  device?: boolean
  client?: LoginClient | null
}

/** Finish a login. Answered when it has ended, well or not. */
export interface AuthLoginFinish {
  op: "auth.login.finish"
  id: string
  login: string
  answer?: string
}

/** Renew a login now. */
export interface AuthRefresh {
  op: "auth.refresh"
  id: string
  provider: string
}

/** Forget a key; a login is also given back to the provider, where it offers that. */
export interface AuthRemove {
  op: "auth.remove"
  id: string
  name: string
}

/** A command in the background ended. */
export interface BackgroundFinished {
  type: "background.finished"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  command_id: string
  exit_code: number | null
  duration_ms?: number
  lost?: boolean
}

/** A command runs in the background. */
export interface BackgroundStarted {
  type: "background.started"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  command_id: string
  command: string
  call_id?: string
}

/** Make an archive of sessions, sealed keys, settings and templates, while everybody works on. It gets its name once it has been unpacked and opened. */
export interface BackupCreate {
  op: "backup.create"
  id: string
  checkpoints?: boolean
  due?: boolean
}

/** One archive. */
export interface BackupInfo {
  name: string
  path: string
  bytes: number
  created_at?: number
  kind?: "by hand" | "daily"
  store?: string
  sessions?: number
  messages?: number
  keys?: boolean
  keys_left_out?: string
  checkpoints?: boolean
  version?: string
  problem?: string
}

/** The recovery key, made when it is first asked for: it unseals the keys in a backup on another machine. */
export interface BackupKey {
  op: "backup.key"
  id: string
}

/** The archives that there are. */
export interface BackupList {
  folder: string
  backups: BackupInfo[]
  daily?: boolean
  keep_days?: number
  checkpoint_bytes?: number
  problem?: string
}

/** What making one did. */
export interface BackupMade {
  backup?: BackupInfo | null
  removed?: string[]
  seconds?: number
}

/** An archive that was unpacked into a place of its own and opened. */
export interface BackupTried {
  backup: BackupInfo
  files?: number
  keys_open?: number
  seconds?: number
}

/** Unpack an archive into a place of its own, compare every checksum, open its database and its keys. */
export interface BackupVerify {
  op: "backup.verify"
  id: string
  archive: string
}

/** List the archives that there are. */
export interface BackupsList {
  op: "backup.list"
  id: string
}

/** The branch that is checked out now. */
export interface Branched {
  branch: string
}

/** A budget is spent. */
export interface BudgetExceeded {
  type: "budget.exceeded"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  scope: "day" | "session" | "tree"
  spent: number
  limit: number
  unit?: "tokens" | "usd"
}

/** A budget is nearly spent. */
export interface BudgetWarning {
  type: "budget.warning"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  scope: "day" | "session" | "tree"
  spent: number
  limit: number
  unit?: "tokens" | "usd"
}

/** Whether there was anything to stop. */
export interface Cancelled {
  was_running: boolean
}

/** A file that changed. */
export interface ChangedFile {
  path: string
  status: "A" | "D" | "M" | "R"
  added?: number
  removed?: number
  patch?: string
  old_path?: string
  binary?: boolean
  cut?: boolean
  others?: boolean
  shared?: string
  runs_outside?: string
  ignored?: boolean
}

/** Files that changed. */
export interface Changes {
  files: ChangedFile[]
}

/** The workspace's state was saved. */
export interface CheckpointCreated {
  type: "checkpoint.created"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  checkpoint: string
  turn: number
  files?: number
}

/** The workspace went back to a saved state. */
export interface CheckpointRestored {
  type: "checkpoint.restored"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  checkpoint: string
  turn: number
  files?: boolean
  conversation?: boolean
  rewound?: [number, number][]
  undo?: string
  returned?: [number, number][]
  others?: string[]
  reverted?: string
}

/** A piece of a file: a function, a class, a section, or some lines. */
export interface CodeHit {
  path: string
  start_line: number
  end_line: number
  score: number
  text: string
  symbol?: string
  kind?: string
  language?: string
}

/** Code that fits a search. */
export interface CodeHits {
  hits: CodeHit[]
}

/** The shape of a workspace's code. */
export interface CodeMap {
  text: string
  files?: MappedFile[]
}

/** Where a name is called or used as a type. */
export interface CodeReference {
  name: string
  path: string
  line: number
}

/** A definition. */
export interface CodeSymbol {
  name: string
  symbol: string
  kind: string
  path: string
  start_line: number
  end_line: number
  signature?: string
}

/** Where a name is defined and used. */
export interface CodeSymbols {
  definitions: CodeSymbol[]
  references?: CodeReference[]
}

/** One time that a context was shrunk. */
export interface CollectionInfo {
  id: number
  collector: string
  at: number
  messages?: number
  shortened?: number
  tokens_freed?: number
  summary?: string
  holds?: boolean
}

/** The slash commands of a workspace. A message that begins with one is expanded, whichever client sends it. */
export interface CommandsList {
  op: "commands.list"
  id: string
  cwd?: string
}

/** What was committed. */
export interface Committed {
  commit: string
  branch: string
  files: number
  subject: string
}

/** A setting that was written, or taken out. */
export interface ConfigChanged {
  key: string
  file: string
  value?: unknown
  at_start?: boolean
}

/** What can be set: what each setting is for, what it must be, and its default. */
export interface ConfigDescribe {
  op: "config.describe"
  id: string
}

/** The settings. */
export interface ConfigList {
  values: ConfigValue[]
  files?: string[]
  notes?: string[]
}

/** Write one setting into a file, or take it out. Everything else in the file stays as it is. The file is checked first: what would not be read is not written. Secrets are refused; the vault keeps those. */
export interface ConfigSet {
  op: "config.set"
  id: string
  key: string
  value?: string | null
  cwd?: string
}

/** The settings, and where each came from. */
export interface ConfigShow {
  op: "config.show"
  id: string
  cwd?: string
}

/** A setting. */
export interface ConfigValue {
  key: string
  value: unknown
  source: string
}

/** The last thing a client hears: why the daemon ends the connection. */
export interface ConnectionClosing {
  type: "connection.closing"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  error: ErrorInfo
}

/** Shrink the context now. Nothing is destroyed: `context.restore` takes it back. */
export interface ContextCollect {
  op: "context.collect"
  id: string
  session: string
  collector?: string
  dry_run?: boolean
}

/** The context was shrunk. */
export interface ContextCollected {
  type: "context.collected"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  collector: string
  reason: "manual" | "overflow" | "threshold" | "turn_limit"
  hidden?: [number, number][]
  summary?: string
  tokens_before?: number
  tokens_after?: number
  collection?: number
  shortened?: number
  note?: string
}

/** What was shown to the model again. */
export interface ContextGivenBack {
  collections: number[]
  tokens_before: number
  tokens_after: number
}

/** A message that a model is shown. */
export interface ContextMessage {
  number: number
  role: "assistant" | "tool" | "user"
  tokens: number
  about?: string
  section?: string
  pinned?: boolean
  shortened?: boolean
}

/** Keep a message from every collector, or no longer. A tool's result is kept together with its call. */
export interface ContextPin {
  op: "context.pin"
  id: string
  session: string
  message: number
  on?: boolean
}

/** A message was kept from collectors, or no longer is. */
export interface ContextPinned {
  type: "context.pinned"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  message_number: number
  pinned: boolean
}

/** What a collection did, or would do. */
export interface ContextProposal {
  collector: string
  done: boolean
  hidden?: [number, number][]
  shortened?: number[]
  tokens_before?: number
  tokens_after?: number
  summary?: string
  note?: string
  collection?: number
}

/** What a model is shown, and what takes how much of it. */
export interface ContextReport {
  session: string
  model: string
  window: number
  used_tokens: number
  estimated: boolean
  threshold: number
  collector: string
  cached_tokens?: number
  sections?: ContextSection[]
  messages?: ContextMessage[]
  collections?: CollectionInfo[]
}

/** Show the model again what a collection took away. */
export interface ContextRestore {
  op: "context.restore"
  id: string
  session: string
  collection?: number
  every?: boolean
}

/** The model sees again what these collections had taken away. */
export interface ContextRestored {
  type: "context.restored"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  collections: number[]
  tokens_before?: number
  tokens_after?: number
}

/** A part of what a model is shown. */
export interface ContextSection {
  name: string
  tokens: number
  items?: number
  cached_tokens?: number
}

/** What the model would be shown now. */
export interface ContextShow {
  op: "context.show"
  id: string
  session: string
}

/** What takes how much of the window, after a turn and whenever it changed otherwise. `context.show` tells more. */
export interface ContextShown {
  type: "context.shown"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  used_tokens: number
  window: number
  sections: ContextSection[]
}

/** The context has grown so large that it will be collected. */
export interface ContextThreshold {
  type: "context.threshold"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  used_tokens: number
  window: number
  percent: number
  threshold: number
}

/** What was spent. */
export interface CostAnalysis {
  days: number
  total_usd: number
  today_usd: number
  week_usd: number
  projected_today_usd: number
  projected_month_usd: number
  by_model: UsageRow[]
  by_day: UsageRow[]
  by_activity: UsageRow[]
  unpriced?: number
  unpriced_today?: number
  unpriced_week?: number
  unpriced_month?: number
  tokens_today?: number
}

/** Start or stop receiving the events of the whole daemon: sessions coming and going, status, metrics. */
export interface DaemonFollow {
  op: "daemon.follow"
  id: string
  on?: boolean
}

/** How the daemon is. */
export interface DaemonInfo {
  pid: number
  version: string
  protocol: string
  socket: string
  web_url?: string
  home?: string
  started_at?: number
  uptime_s?: number
  sessions?: number
  running?: number
  queued?: number
  waiting?: number
  at_once?: number | null
  clients?: number
  rss_bytes?: number
  usage?: SessionUsage
  jail?: string
  jail_problem?: string
  model?: string
  mode?: "ask" | "auto" | "edits" | "full" | "plan"
  cap_usd?: number | null
  today?: DayBudget | null
}

/** How the daemon is. */
export interface DaemonStatus {
  op: "daemon.status"
  id: string
  cwd?: string
}

/** End the daemon; running turns are saved. */
export interface DaemonStop {
  op: "daemon.stop"
  id: string
}

/** What all sessions together may spend today, and what they have. */
export interface DayBudget {
  cap_usd?: number | null
  spent_usd?: number
  cap_tokens?: number | null
  spent_tokens?: number
}

/** Every tool fills in what it knows; what is left out is not known or not there. */
export interface Display {
  summary?: string
  path?: string
  files?: WrittenFile[]
  diff?: string
  added?: number | null
  removed?: number | null
  lines?: number | null
  entries?: number | null
  exit_code?: number | null
  background?: string
  url?: string
  status?: number | null
  agents?: AgentRun[]
  model?: string
  stop_reason?: string
}

/** Nothing to tell but that it was done. */
export type Done = Record<string, never>

/** How a turn ended: kept with the session for as long as its messages. A turn on a page that is not among these is still running, or ended before ends were kept. */
export interface EndedTurn {
  turn: number
  reason: "budget" | "cancelled" | "done" | "error" | "interrupted" | "loop" | "max_tokens" | "refused" | "step_limit" | "time_limit"
  ended_at?: number
  duration_ms?: number
  steps?: number
  usage?: Usage
  cost_usd?: number
  by?: string
  error?: ErrorInfo | null
}

/** What went wrong, for programs and for people. */
export interface ErrorInfo {
  code: "auth_failed" | "bad_frame" | "bad_op" | "budget_exceeded" | "busy" | "config_error" | "conflict" | "context_too_long" | "internal" | "invalid_argument" | "jail_error" | "model_not_found" | "not_found" | "overloaded" | "permission_denied" | "provider_error" | "quota_exhausted" | "rate_limited" | "shutting_down" | "slow_client" | "store_error" | "store_unavailable" | "tool_error" | "unauthorized" | "unknown_op" | "version_mismatch" | "workspace_full" | "workspace_gone"
  message: string
  hint?: string
  recoverable?: boolean
  retry_after?: number
}

/** Something went wrong. */
export interface ErrorRaised {
  type: "error"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  error: ErrorInfo
}

/** Something that not everybody needs and that is large. */
export interface ExtraInfo {
  name: string
  purpose: string
  without: string
  state: "absent" | "fetched" | "installed"
  download_mb: number
  size_bytes: number
  stage?: string
}

/** All there are. */
export interface ExtraInfos {
  extras: ExtraInfo[]
}

/** Fetch one. Its progress comes as events, to this connection alone. */
export interface ExtrasFetch {
  op: "extras.fetch"
  id: string
  name: string
}

/** Which heavy libraries are here, and what happens without the others. */
export interface ExtrasList {
  op: "extras.list"
  id: string
}

/** The refusal of one op, sent only to the client that asked. */
export interface Failed {
  type: "failed"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  error: ErrorInfo
}

/** What went wrong. */
export interface FailureReport {
  rows: FailureRow[]
}

/** Errors of one kind on one day. */
export interface FailureRow {
  day: string
  code: string
  failed?: number
  retried?: number
}

/** What is in a file. */
export interface FileContent {
  path: string
  size: number
  version?: string
  text?: string
  binary?: boolean
  media_type?: string
  data?: string
}

/** Directories first. */
export interface FileEntries {
  path: string
  entries: FileEntry[]
  left_out?: number
}

/** What stands in a directory. */
export interface FileEntry {
  name: string
  path: string
  kind: "directory" | "file" | "link" | "other"
  size?: number
  modified_at?: number
  mark?: "" | "conflict" | "deleted" | "modified" | "new"
}

/** A file that was written. */
export interface FileWritten {
  path: string
  size: number
  version: string
}

/** What is in a directory of a session's workspace, of a workspace's copy, or of a folder. */
export interface FilesList {
  op: "files.list"
  id: string
  session?: string
  copy?: string
  cwd?: string
  path?: string
  below?: boolean
  query?: string
  changed?: boolean
}

/** A file of a session's workspace, or of a workspace's copy. */
export interface FilesRead {
  op: "files.read"
  id: string
  session?: string
  copy?: string
  path: string
  picture?: boolean
  start?: number | null
}

/** Create or replace a file; parent directories are made. */
export interface FilesWrite {
  op: "files.write"
  id: string
  session?: string
  copy?: string
  path: string
  text: string
  version?: string | null
}

/** One agent of a step. */
export interface FlowAgentInfo {
  template: string
  task: string
}

/** Whether a flow could run there. Nothing is run. */
export interface FlowCheck {
  op: "flow.check"
  id: string
  text: string
  file?: string
  cwd?: string
}

/** A flow ended. */
export interface FlowFinished {
  type: "flow.finished"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  state: "cancelled" | "done" | "failed" | "interrupted" | "running"
  cost_usd?: number
  tokens?: number
  duration_ms?: number
  error?: ErrorInfo | null
}

/** A flow, as its file describes it. */
export interface FlowInfo {
  name: string
  description?: string
  file?: string
  inputs?: Record<string, string>
  defaults?: Record<string, string>
  steps?: string[]
  problems?: string[]
  text?: string
  plan?: FlowStepInfo[]
}

/** The flows of a project. */
export interface FlowList {
  flows: FlowInfo[]
}

/** How a flow is doing. */
export interface FlowReport {
  session: string
  name: string
  state: "cancelled" | "done" | "failed" | "interrupted" | "running"
  steps: FlowStepReport[]
  cost_usd?: number
  tokens?: number
  error?: ErrorInfo | null
  flow?: FlowInfo | null
  inputs?: Record<string, string>
  started_at?: number
  ended_at?: number
}

/** Go on with a flow that ended early, after its last step that was done. */
export interface FlowResume {
  op: "flow.resume"
  id: string
  session: string
}

/** Start a flow in a session of its own: one of the project's by its name, or one that is given as text. */
export interface FlowRun {
  op: "flow.run"
  id: string
  name?: string
  text?: string
  file?: string
  cwd: string
  inputs?: Record<string, string>
  mode?: "ask" | "auto" | "edits" | "full" | "plan" | null
  model?: string
  budget_usd?: number | null
}

/** The session it runs in: attach to follow it, `turn.cancel` ends it. */
export interface FlowRunning {
  session: string
  name: string
  steps: string[]
  seq?: number
  done?: string[]
}

/** How a flow is doing. */
export interface FlowShow {
  op: "flow.show"
  id: string
  session: string
}

/** A flow began. */
export interface FlowStarted {
  type: "flow.started"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  name: string
  file: string
  text: string
  inputs?: Record<string, string>
  steps?: string[]
}

/** A step of a flow, to be drawn. */
export interface FlowStepInfo {
  name: string
  agents?: FlowAgentInfo[]
  until?: string
  max_rounds?: number
  takes?: string[]
}

/** How a step of a flow is doing. */
export interface FlowStepReport {
  name: string
  state?: "done" | "failed" | "running" | "waiting"
  rounds?: number
  text?: string
  cost_usd?: number
  agents?: string[]
  started_at?: number
  ended_at?: number
}

/** A step of a flow changed. */
export interface FlowStepped {
  type: "flow.step"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  step: string
  state: "done" | "failed" | "running" | "waiting"
  round?: number
  text?: string
  cost_usd?: number
}

/** The flows of a project: `.openagent/flows/*.toml`. */
export interface FlowsList {
  op: "flow.list"
  id: string
  cwd: string
}

/** A folder to work in. */
export interface Folder {
  name: string
  path: string
  repository?: boolean
}

/** Whether a folder's own settings, rules, MCP servers and hooks count. */
export interface FolderTrust {
  folder: string
  trusted?: boolean
  declined?: boolean
  files?: string[]
}

/** The folders in a folder. */
export interface Folders {
  path: string
  home: string
  folders: Folder[]
  parent?: string
  repository?: boolean
  left_out?: number
}

/** The folders in a folder of the daemon's machine, to choose a workspace from. */
export interface FoldersList {
  op: "folders.list"
  id: string
  cwd?: string
}

/** What other agents left on this machine. */
export interface FoundHistory {
  agents: AgentHistory[]
  sessions?: number
  fresh?: number
  left_out?: LeftOut[]
}

/** A key that is there already. */
export interface FoundKey {
  provider: string
  title: string
  model: string
  source: "config" | "environment" | "vault"
  variable?: string
}

/** A message that holds the words. */
export interface FoundMessage {
  session: string
  session_name: string
  number: number
  role: "assistant" | "tool" | "user"
  created_at: number
  excerpt: string
}

/** Messages that hold the words. */
export interface FoundMessages {
  found: FoundMessage[]
  unread?: number
}

/** Start a branch where HEAD is, and switch to it. The files stay as they are. */
export interface GitBranch {
  op: "git.branch"
  id: string
  session: string
  name: string
}

/** Commit files of a session's workspace as the person. The repository's hooks do not run. */
export interface GitCommit {
  op: "git.commit"
  id: string
  session: string
  message: string
  paths?: string[]
}

/** Push the branch and open a pull request for it with the forge's program, `gh` or `glab`. */
export interface GitPullRequest {
  op: "git.pull_request"
  id: string
  session: string
  title: string
  body?: string
  base?: string
  draft?: boolean
}

/** Push the branch to its remote. */
export interface GitPush {
  op: "git.push"
  id: string
  session: string
}

/** How the repository of a session's workspace stands. */
export interface GitStatus {
  op: "git.status"
  id: string
  session: string
}

/** Something a person allowed for longer than once. */
export interface Grant {
  id: string
  scope: "always" | "session"
  covers: string
  workspace?: string
  session?: string
  at?: number
  by?: string
}

/** What people allowed. */
export interface Grants {
  grants: Grant[]
  notices?: string[]
}

/** What is allowed without being asked for, because a person said so. */
export interface GrantsList {
  op: "grants.list"
  id: string
  session?: string
}

/** Take a grant back. It holds no longer from the next decision on, also in a turn that is running. */
export interface GrantsRevoke {
  op: "grants.revoke"
  id: string
  grant: string
}

/** Somebody who opened a session by a link. */
export interface GuestInfo {
  who: PersonName
  expires_at: number
  writes?: boolean
}

/** The first op of a connection: who is calling, and in which version of the protocol. */
export interface Hello {
  op: "hello"
  id: string
  protocol: string
  client?: string
  interactive?: boolean
  env?: Record<string, string>
}

/** Which sessions of other agents lie on this machine. Looks at names, sizes and dates of files; reads none. */
export interface HistoryFind {
  op: "history.find"
  id: string
}

/** Bring what other agents left on this machine: each session there becomes one here, searched, opened and continued like any other. Reads only what is new since the last time, and changes nothing of theirs. How far it is comes as events, to this connection alone. */
export interface HistoryImport {
  op: "history.import"
  id: string
  agents?: ("aider" | "claude" | "codex" | "gemini" | "goose" | "opencode")[]
  since?: number
  dry_run?: boolean
}

/** Sessions of other agents were brought here. */
export interface HistoryImported {
  type: "history.imported"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  sessions: number
  messages?: number
}

/** Sessions of other agents are being read; sent to the client that asked for it. */
export interface HistoryProgress {
  type: "history.progress"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  stage: string
  done?: number
  total?: number
  messages?: number
}

/** A command that is run when something happens. */
export interface Hook {
  event: string
  command: string
  matcher?: string
  timeout?: number
  origin?: "mcp" | "project" | "user"
  source?: string
  form?: "claude" | "codex" | "copilot" | "gemini" | "own"
  told_as?: string
  waits?: boolean
  root?: string
  only_if?: string
  once?: boolean
}

/** A command of the person's ran because something happened. */
export interface HookRan {
  type: "hook.ran"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  hook: string
  command: string
  outcome: "blocked" | "done" | "failed" | "timeout"
  detail?: string
  duration_ms?: number
  tool?: string
  call_id?: string
}

/** What a hook did. */
export interface HookTried {
  hook: Hook
  outcome: "blocked" | "done" | "failed" | "timeout"
  exit_code?: number | null
  stdout?: string
  stderr?: string
  detail?: string
  duration_ms?: number
}

/** The hooks of a workspace. */
export interface Hooks {
  hooks: Hook[]
  notices?: string[]
}

/** The hooks of a workspace. */
export interface HooksList {
  op: "hooks.list"
  id: string
  cwd?: string
}

/** Run the hooks of one event now, as if it had happened. Nothing else happens. */
export interface HooksTest {
  op: "hooks.test"
  id: string
  event: string
  cwd: string
  tool?: string
  input?: Record<string, unknown>
}

/** What the hooks of an event did. */
export interface HooksTried {
  tried: HookTried[]
  notices?: string[]
}

/** An image. */
export interface ImagePart {
  type: "image"
  media_type: string
  data: string
}

/** What an import brought from one agent. */
export interface ImportedAgent {
  agent: "aider" | "claude" | "codex" | "gemini" | "goose" | "opencode"
  title: string
  new?: number
  grown?: number
  apart?: number
  unchanged?: number
  dropped?: number
  messages?: number
}

/** What an import brought, or would bring. */
export interface ImportedHistory {
  agents: ImportedAgent[]
  left_out: LeftOut[]
  messages?: number
  seconds?: number
  dry_run?: boolean
}

/** What became of a conversation that was brought here. */
export interface ImportedSession {
  info: SessionInfo
  was_here?: boolean
}

/** How a workspace's index is. */
export interface IndexAsk {
  op: "index.status"
  id: string
  cwd: string
}

/** Bring a workspace's index up to date. Its progress comes as events, to this connection alone. */
export interface IndexBuild {
  op: "index.build"
  id: string
  cwd: string
}

/** What building an index did. */
export interface IndexBuilt {
  files: number
  indexed: number
  removed: number
  left_out: number
  seconds: number
}

/** How an index is. */
export interface IndexInfo {
  workspace: string
  built_at?: number | null
  files?: number
  chunks?: number
  symbols?: number
  references?: number
  embedded?: number
  left_out?: number
  size_bytes?: number
  model?: boolean
  shown?: number
  useful?: number
  stage?: string
}

/** What is used most in a workspace, in so many tokens at most. */
export interface IndexMap {
  op: "index.map"
  id: string
  cwd: string
  max_tokens?: number
}

/** A workspace is being indexed or the index's model installed; sent to the client that asked for it. */
export interface IndexProgress {
  type: "index.progress"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  stage: string
  done?: number
  total?: number
}

/** The embedding model is set up. */
export interface IndexReady {
  path: string
  size_bytes: number
}

/** Search code. */
export interface IndexSearch {
  op: "index.search"
  id: string
  cwd: string
  query: string
  limit?: number
  by?: "fused" | "meaning" | "text"
}

/** Install the model that finds code by meaning. Its progress comes as events, to this connection alone. */
export interface IndexSetup {
  op: "index.setup"
  id: string
}

/** Where a name is defined and where it is used. */
export interface IndexSymbols {
  op: "index.symbols"
  id: string
  cwd: string
  name: string
  like?: boolean
}

/** A watched workspace's index is up to date again; sent to the client that watches. */
export interface IndexUpdated {
  type: "index.updated"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  files: number
  indexed?: number
  removed?: number
  left_out?: number
  seconds?: number
}

/** Keep a workspace's index up to date until this connection ends. Each change comes as an event, to it alone. */
export interface IndexWatch {
  op: "index.watch"
  id: string
  cwd: string
}

/** What a message seems to want. */
export interface Intent {
  type: "control" | "organize" | "research"
  confidence: number
  action?: string
  entities?: string[]
  query?: string
}

/** What the message of this turn seems to be for, and whether anything was made of that. */
export interface IntentDetected {
  type: "intent.detected"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  intent?: Intent | null
  used?: boolean
  tools?: string[]
  note?: string
}

/** A person and their invitation. */
export interface Invited {
  id: string
  email: string
  name?: string
  role?: "admin" | "member" | "viewer"
  disabled?: boolean
  folder?: string
  teams?: string[]
  limits?: Limits
  created_at?: number
  last_login_at?: number | null
  password?: boolean
  invited_until?: number | null
  link?: string
  note?: string
}

/** What the processes in a session's jail use right now. */
export interface JailUse {
  processes?: number
  memory_bytes?: number
  cpu_seconds?: number
}

/** How a vendor's keys begin. */
export interface KeyLook {
  prefix: string
  provider: string
  title: string
}

/** Keep an API key of your own, or a team's: turns of your sessions, or of those shared with the team, use it in place of the one that is everybody's. */
export interface KeysAdd {
  op: "keys.add"
  id: string
  name: string
  key: string
  team?: string
  replace?: boolean
  test?: boolean
}

/** The keys of your own, or of a team's, without the keys themselves. */
export interface KeysList {
  op: "keys.list"
  id: string
  team?: string
}

/** Forget a key of your own, or a team's. */
export interface KeysRemove {
  op: "keys.remove"
  id: string
  name: string
  team?: string
}

/** What nobody answered in time. It was not done, and can be asked again. */
export interface LapsedAsk {
  id: string
  at: number
  permission?: PermissionAsk | null
  question?: Question | null
}

/** A file that was left as it is. */
export interface LeftAlone {
  path: string
  reason: string
}

/** A file that was not read, or not to its end. */
export interface LeftOut {
  agent: "aider" | "claude" | "codex" | "gemini" | "goose" | "opencode"
  path: string
  reason: string
}

/** What a person or a team may use. What is not said is not limited. */
export interface Limits {
  day_usd?: number | null
  day_tokens?: number | null
  turns_a_minute?: number | null
  turns_at_once?: number | null
}

/** A link that opens a session, without its secret. */
export interface LinkInfo {
  expires_at: number
  writes?: boolean
}

/** The answer being streamed right now, as far as it has come. */
export interface LiveAnswer {
  message_number: number
  parts?: (TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | NotePart)[]
}

/** Sent once on re-attach in the middle of an answer: all of it so far. Deltas go on from here. */
export interface LiveState {
  type: "live.state"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  live: LiveAnswer
}

/** A model server that answered: of this machine, or one that somebody configured. */
export interface LocalServer {
  provider: string
  title: string
  url: string
  models?: ServedModel[]
  configured?: boolean
}

/** An address that logs a browser in. */
export interface LoginAddress {
  url: string
  expires_at: number
  note?: string
}

/** As whom and where to log in, for a provider of which the configuration does not say it. */
export interface LoginClient {
  client_id: string
  client_secret?: string
  template?: string
  issuer?: string
  redirect_uri?: string
  base_url?: string
}

/** A provider that one can log in to. */
export interface LoginOffer {
  provider: string
  done?: boolean
}

/** A provider's login no longer does. */
export interface LoginRequired {
  type: "login.required"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  provider: string
  reason: string
}

/** A login that waits for a person in a browser. */
export interface LoginStarted {
  login: string
  url: string
  expires_at: number
  code?: string
  pasted?: boolean
}

/** A provider whose ways to log in are known. A client id of one's own is needed all the same. */
export interface LoginTemplate {
  name: string
  title: string
  provider: string
  register: string
  device?: boolean
}

/** A file of the map. */
export interface MappedFile {
  path: string
  symbols: MappedSymbol[]
}

/** A definition that others use. */
export interface MappedSymbol {
  symbol: string
  kind: string
  start_line: number
  signature?: string
  used_in?: number
}

/** Keep an MCP server in the database. */
export interface McpAdd {
  op: "mcp.add"
  id: string
  name: string
  server: McpServerEntry
  replace?: boolean
}

/** The servers that are known, with the settings they need. */
export interface McpCatalog {
  op: "mcp.catalog"
  id: string
  name?: string
}

/** The servers that are known. */
export interface McpCatalogue {
  entries: McpCatalogueEntry[]
}

/** A server that is known, whether it is installed or not. */
export interface McpCatalogueEntry {
  name: string
  about: string
  server: McpServerEntry
  needs?: McpSetting[]
  install?: string
  page?: string
}

/** Copy the servers of another program's file into the database; what is there already stays. */
export interface McpImport {
  op: "mcp.import"
  id: string
  path: string
}

/** What was taken over. */
export interface McpImported {
  added: string[]
  kept?: string[]
  problems?: string[]
  notes?: string[]
}

/** A server's entry, to be edited. */
export interface McpKept {
  name: string
  server: McpServerEntry
  source: string
}

/** The MCP servers that count in a folder, or for a session. */
export interface McpList {
  op: "mcp.list"
  id: string
  cwd?: string
  session?: string
}

/** Start a login to a server. It ends when the browser comes back to the daemon, or with `mcp.login.finish`. */
export interface McpLogin {
  op: "mcp.login"
  id: string
  name: string
  cwd?: string
}

/** Finish a login to a server. Answered when it has ended, well or not. */
export interface McpLoginFinish {
  op: "mcp.login.finish"
  id: string
  login: string
  answer?: string
}

/** Forget a login to a server. */
export interface McpLogout {
  op: "mcp.logout"
  id: string
  name: string
}

/** How a server knows us, where it does not let programs register themselves. */
export interface McpOAuth {
  client_id?: string
  client_secret?: string
  scopes?: string[]
  grant?: "" | "client_credentials" | "identity_assertion"
  issuer?: string
  private_key?: string
  identity_url?: string
  identity_client?: string
  identity_token?: string
}

/** A prompt of a server. */
export interface McpPrompt {
  server: string
  name: string
  description?: string
  arguments?: McpPromptArgument[]
}

/** Something a prompt is filled in with. */
export interface McpPromptArgument {
  name: string
  description?: string
  required?: boolean
}

/** A prompt, filled in. */
export interface McpPromptGet {
  op: "mcp.prompt.get"
  id: string
  cwd: string
  server: string
  name: string
  arguments?: Record<string, string>
}

/** Prompts of servers. */
export interface McpPromptList {
  prompts: McpPrompt[]
}

/** One message of a prompt. */
export interface McpPromptMessage {
  role: "assistant" | "user"
  part: TextPart | ImagePart
}

/** A prompt, filled in. */
export interface McpPromptMessages {
  messages: McpPromptMessage[]
}

/** The prompts of a folder's servers. Starts them where need be. */
export interface McpPrompts {
  op: "mcp.prompts"
  id: string
  cwd: string
  server?: string
}

/** Remove an MCP server, out of the database or out of the person's own file. */
export interface McpRemove {
  op: "mcp.remove"
  id: string
  name: string
}

/** Something a server lets one read. */
export interface McpResource {
  server: string
  uri: string
  name: string
  description?: string
  media_type?: string
  is_template?: boolean
}

/** One thing that was read from a server. */
export interface McpResourceContent {
  uri: string
  media_type?: string
  text?: string
  data?: string
}

/** What was read from a server. */
export interface McpResourceContents {
  contents: McpResourceContent[]
}

/** What servers let one read. */
export interface McpResourceList {
  resources: McpResource[]
}

/** Read what a server offers at an address of its own. */
export interface McpResourceRead {
  op: "mcp.resource.read"
  id: string
  cwd: string
  server: string
  uri: string
}

/** What the servers of a folder let one read. Starts them where need be. */
export interface McpResources {
  op: "mcp.resources"
  id: string
  cwd: string
  server?: string
}

/** A server in the form of an `mcpServers` file: a command to run in the jail, or an address. */
export interface McpServerEntry {
  type?: string
  command?: string
  args?: string[]
  env?: Record<string, string>
  url?: string
  headers?: Record<string, string>
  cwd?: string
  folders?: string[]
  timeout?: number
  start_timeout?: number
  tools?: string[]
  without_tools?: string[]
  network?: string | string[]
  disabled?: boolean
  description?: string
  oauth?: McpOAuth
}

/** An MCP server, and how it is. */
export interface McpServerInfo {
  name: string
  transport: "http" | "sse" | "stdio"
  target: string
  status: "disabled" | "down" | "failed" | "idle" | "starting" | "up"
  detail?: string
  tools?: string[]
  source?: string
  origin?: "project" | "session" | "yours"
  description?: string
  resources?: number
  prompts?: number
  warnings?: string[]
  in_session?: boolean
}

/** An MCP server needs longer to start than a turn waits for it. */
export interface McpServerLate {
  type: "mcp.late"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  server: string
  state: "awaited" | "failed" | "joined" | "left_out"
  seconds?: number
  tools?: number
  detail?: string
}

/** An MCP server came up, or went down. */
export interface McpServerStatus {
  type: "mcp.status"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  server: string
  status: "disabled" | "down" | "failed" | "starting" | "up"
  detail?: string
  tools?: number
  warnings?: string[]
}

/** MCP servers. */
export interface McpServers {
  servers: McpServerInfo[]
  notices?: string[]
}

/** Servers for one session alone, in the place of those it was given before: kept in memory, and gone with none. A name comes before the same one elsewhere. */
export interface McpSessionServers {
  op: "mcp.session.set"
  id: string
  session: string
  servers: Record<string, McpServerEntry>
}

/** A variable that a known server is started with. */
export interface McpSetting {
  name: string
  about: string
  required?: boolean
  is_set?: boolean
}

/** A server's entry as it was given. `mcp.add` puts it back, and keeps what is empty in it. */
export interface McpShow {
  op: "mcp.show"
  id: string
  name: string
}

/** Enable or disable an MCP server, wherever it stands: for all sessions, or for one from its next turn on. */
export interface McpSwitch {
  op: "mcp.switch"
  id: string
  name: string
  on: boolean
  cwd?: string
  session?: string
}

/** Start an MCP server, or all of them, and tell what they offer. */
export interface McpTest {
  op: "mcp.test"
  id: string
  name?: string
  cwd?: string
  server?: McpServerEntry | null
}

/** How a conflict is settled. */
export interface MergeChoice {
  path: string
  take: "copy" | "origin" | "text"
  text?: string
  version?: string
}

/** Changed on both sides. The origin keeps its own version, the copy its own. */
export interface MergeConflict {
  path: string
  reason: string
  origin?: string | null
  copy?: string | null
  base?: string | null
  version?: string
  cut?: boolean
}

/** One message of a session. */
export interface Message {
  number: number
  role: "assistant" | "tool" | "user"
  parts: (TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | NotePart)[]
  turn?: number
  created_at?: number
  model?: string | null
  usage?: Usage | null
  cost_usd?: number | null
  latency_ms?: number | null
  stop_reason?: "cancelled" | "end" | "error" | "interrupted" | "max_tokens" | "refusal" | "tool_calls" | null
  rewound?: boolean
}

/** A message was stored. */
export interface MessageAdded {
  type: "message.added"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  message: Message
}

/** Some of a session's messages. */
export interface MessagePage {
  messages: Message[]
  has_more: boolean
  rewound?: [number, number][]
  turns?: EndedTurn[]
}

/** A message waits for the running turn to end, or for a place among the turns that run at once. */
export interface MessageQueued {
  type: "message.queued"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  queued: QueuedMessage
  in_line?: boolean
}

/** The request that led to an answer and the response as it came, as far as kept. */
export interface MessageRaw {
  op: "message.raw"
  id: string
  session: string
  number: number
}

/** Send a message. It is accepted and stored when the reply arrives, and runs at once or after the running turn. */
export interface MessageSend {
  op: "message.send"
  id: string
  session: string
  text?: string
  parts?: (TextPart | ImagePart)[]
  again?: boolean
}

/** What was said, newest page first, each page oldest first. */
export interface MessagesPage {
  op: "messages.page"
  id: string
  session: string
  before?: number | null
  after?: number | null
  limit?: number
}

/** Messages of all sessions, or of one, that hold all of these words; the best first. */
export interface MessagesSearch {
  op: "messages.search"
  id: string
  query: string
  session?: string
  limit?: number
}

/** The daemon's own pulse, sent to clients that follow it or subscribed to it. */
export interface Metrics {
  type: "metrics"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  sessions: number
  running: number
  clients: number
  rss_bytes: number
  cpu_percent: number
  spend_today_usd?: number
  unpriced_today?: number
  tokens_today?: number
  system_cpu_percent?: number
  system_memory_bytes?: number
  system_memory_total_bytes?: number
  agents?: AgentMetrics[]
}

/** How the agents that were last active perform. */
export interface MetricsAgents {
  op: "metrics.agents"
  id: string
  limit?: number
}

/** What was spent, on what, and where it is heading. */
export interface MetricsCost {
  op: "metrics.cost"
  id: string
  days?: number
}

/** What the daemon counted since its start, as monitoring systems collect it. */
export interface MetricsExport {
  op: "metrics.export"
  id: string
  format?: "influx" | "openmetrics" | "prometheus"
}

/** Have `metrics` events sent to this connection at a pace of its own, with how single agents do. For charts that are drawn live; each call replaces the one before. */
export interface MetricsSubscribe {
  op: "metrics.subscribe"
  id: string
  agents?: string[]
  every?: number
  on?: boolean
}

/** What the daemon counted, for a program that collects it. */
export interface MetricsText {
  content_type: string
  text: string
}

/** The model that answers from now on. */
export interface ModelChosen {
  model: string
  file: string
}

/** Models. */
export interface ModelEntries {
  models: ModelEntry[]
  problems?: ProviderProblem[]
}

/** A model. */
export interface ModelEntry {
  name: string
  context_window?: number
  max_output_tokens?: number
  input_usd?: number | null
  output_usd?: number | null
  note?: string
}

/** A model that was installed. */
export interface ModelPulled {
  model: string
  path: string
  size_bytes: number
}

/** A model was chosen for the turn. */
export interface ModelRouted {
  type: "model.routed"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  model: string
  reason: string
}

/** What could answer on this machine. */
export interface ModelSources {
  keys: FoundKey[]
  servers: LocalServer[]
  logins: LoginOffer[]
  offline: OfflineOffer[]
  looks: KeyLook[]
}

/** Whether a model answers. */
export interface ModelTest {
  model: string
  latency_ms?: number
  error?: ErrorInfo | null
}

/** Whether models answer. */
export interface ModelTests {
  tests: ModelTest[]
}

/** What the providers offer, asked of them. */
export interface ModelsList {
  op: "models.list"
  id: string
  provider?: string
  cwd?: string
}

/** Install an offline model. Its progress comes as events, to this connection alone. */
export interface ModelsPull {
  op: "models.pull"
  id: string
  name: string
}

/** Ask models for one token, and see. */
export interface ModelsTest {
  op: "models.test"
  id: string
  name?: string
  cwd?: string
}

/** Who is asking, and among whom. */
export interface Myself {
  person?: PersonInfo | null
  several?: boolean
  teams?: TeamName[]
  known?: PersonName[]
}

/** What the daemon, and not a person, tells the model: rules of a folder, the words of a command or a hook. */
export interface NotePart {
  type: "note"
  source: string
  text: string
  pinned?: boolean
}

/** A small model that runs without a network. */
export interface OfflineOffer {
  name: string
  size_bytes: number
  note: string
  installed?: boolean
}

export type Op = Hello | Ping | DaemonStatus | DaemonFollow | DaemonStop | SessionCreate | SessionList | SessionGet | SessionAttach | SessionDetach | SessionUpdate | SessionDelete | SessionFork | SessionImport | MessageSend | TurnCancel | TurnRetry | MessagesPage | MessageRaw | AsksList | AskAgain | PermissionAnswer | QuestionAnswer | QueueShow | QueueEdit | QueueRemove | QueueMove | QueueResume | SessionUndo | SessionRedo | SessionChanges | ReviewShow | ReviewRevert | AgentsList | FlowsList | FlowCheck | FlowRun | FlowResume | FlowShow | TasksList | TaskGet | TaskCreate | TaskUpdate | TaskDelete | TaskHistory | TaskNote | TaskRun | TaskFollow | TaskStop | TasksImport | TasksSync | FoldersList | FilesList | FilesRead | FilesWrite | TerminalOpen | TerminalInput | TerminalResize | TerminalClose | MessagesSearch | ContextShow | ContextCollect | ContextPin | ContextRestore | ToolsSwitch | ToolsList | ToolRun | McpList | McpTest | McpAdd | McpShow | McpRemove | McpSwitch | McpImport | McpResources | McpResourceRead | McpPrompts | McpPromptGet | McpLogin | McpLoginFinish | McpSessionServers | McpLogout | McpCatalog | TemplatesList | TemplatesGet | TemplatesSave | TemplatesRemove | TemplatesImport | TemplatesExport | TemplatesRead | TemplatesWrite | CommandsList | SkillsList | SkillShow | HooksList | HooksTest | PluginsList | ModelsList | ModelsTest | ModelsPull | AuthAdd | AuthList | AuthRemove | AuthLogin | AuthLoginFinish | AuthRefresh | KeysAdd | KeysList | KeysRemove | SetupShow | SetupLook | SetupKey | SetupUse | SetupTour | ProvidersAdd | ProvidersRemove | ConfigShow | ConfigDescribe | ConfigSet | UsageFailures | UsageAsk | MetricsAgents | MetricsCost | MetricsExport | MetricsSubscribe | WorkspacesList | WorkspacesCreate | WorkspacesDiff | WorkspacesMerge | WorkspacesRemove | WorkspacesBackup | WorkspacesRestore | WorkspacesCollect | IndexWatch | IndexBuild | IndexSearch | IndexSymbols | IndexMap | IndexAsk | IndexSetup | TrustAdd | TrustRemove | TrustDecline | TrustShow | PolicyExplain | PolicyTest | AuditAsk | GrantsList | GrantsRevoke | TokensCreate | TokensList | TokensRevoke | WebLogin | WebClose | PeopleMe | PeopleList | PeopleAdd | PeopleInvite | PeopleUpdate | PeopleRemove | TeamsList | TeamsCreate | TeamsUpdate | TeamsRemove | SessionShare | SessionJoin | SessionAccess | ExtrasList | ExtrasFetch | GitStatus | GitCommit | GitBranch | GitPush | GitPullRequest | HistoryFind | HistoryImport | UsageAll | BackupCreate | BackupsList | BackupVerify | BackupKey | ReportShow | ReportSend

/** A session of another agent that was brought here. */
export interface Origin {
  agent: "aider" | "claude" | "codex" | "gemini" | "goose" | "opencode"
  title: string
  id: string
  path: string
  messages?: number
  usage?: SessionUsage
  version?: string
}

/** What somebody else changed in the workspace since the session first wrote there. */
export interface OthersChanges {
  files: ChangedFile[]
  session?: string
  name?: string
  more?: number
}

/** Keys of a person's or a team's own. */
export interface OwnKeys {
  entries: AuthEntry[]
}

/** What waits for a person: a permission, or the answer to a question. */
export interface PendingAsk {
  id: string
  session: string
  name: string
  cwd: string
  at: number
  permission?: PermissionAsk | null
  question?: Question | null
  lapsed_at?: number | null
}

/** What waits for a person. */
export interface PendingAsks {
  asks: PendingAsk[]
  lapsed?: PendingAsk[]
}

/** People. */
export interface People {
  people: PersonInfo[]
  note?: string
}

/** Add a person and make their invitation link. If `people.issuer` is set, they sign in there with this address instead. */
export interface PeopleAdd {
  op: "people.add"
  id: string
  email: string
  name?: string
  role?: "admin" | "member" | "viewer"
}

/** Make a new invitation link for a person, for example after a forgotten password. It replaces the previous one. */
export interface PeopleInvite {
  op: "people.invite"
  id: string
  person: string
}

/** The people there are. */
export interface PeopleList {
  op: "people.list"
  id: string
}

/** Who is asking, and whose sessions they may meet. */
export interface PeopleMe {
  op: "people.me"
  id: string
}

/** Remove a person: they are signed out at once, leave their teams, and lose their tokens and keys. Their sessions and folder stay under their name. Adding the address again creates a new person. */
export interface PeopleRemove {
  op: "people.remove"
  id: string
  person: string
}

/** Change a person's role or limits, or let them in no longer. At once: whoever is connected as them is cut off. */
export interface PeopleUpdate {
  op: "people.update"
  id: string
  person: string
  role?: "admin" | "member" | "viewer"
  disabled?: boolean
  limits?: Limits
}

/** Allow or deny a waiting tool call. */
export interface PermissionAnswer {
  op: "permission.answer"
  id: string
  session: string
  ask: string
  decision: "allow" | "deny"
  scope?: "always" | "once" | "session"
  reason?: string
  choice?: string
}

/** A tool call that waits for a person. */
export interface PermissionAsk {
  id: string
  call_id: string
  tool: string
  arguments: Record<string, unknown>
  summary: string
  risk?: "high" | "low" | "medium"
  reason?: string
  rule?: string
  enough_mode?: "ask" | "auto" | "edits" | "full" | "plan" | null
  child?: string
  diff?: string
  more_lines?: number
  more_files?: number
  choices?: PermissionChoice[]
  asked_at?: number
  until?: number | null
}

/** One way to allow what is asked for, and what else it would allow. */
export interface PermissionChoice {
  id: string
  scope: "always" | "once" | "session"
  by: "call" | "exact" | "file" | "folder" | "host" | "prefix" | "tool"
  covers: string
}

/** A decision that needed nobody: shown so that a person can see why something ran or was refused. */
export interface PermissionNoted {
  type: "permission.noted"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  call_id: string
  tool: string
  decision: "allow" | "deny"
  risk?: "high" | "low" | "medium"
  reason?: string
  rule?: string
}

/** A tool call waits for a person. */
export interface PermissionRequested {
  type: "permission.requested"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  ask: PermissionAsk
  answerable?: boolean
}

/** A person answered, or nobody did in time. */
export interface PermissionResolved {
  type: "permission.resolved"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  ask_id: string
  decision: "allow" | "deny"
  scope?: "always" | "once" | "session"
  by?: string
  reason?: string
  covers?: string
}

/** A person of this installation. */
export interface PersonInfo {
  id: string
  email: string
  name?: string
  role?: "admin" | "member" | "viewer"
  disabled?: boolean
  folder?: string
  teams?: string[]
  limits?: Limits
  created_at?: number
  last_login_at?: number | null
  password?: boolean
  invited_until?: number | null
}

/** What others are told of a person. */
export interface PersonName {
  id: string
  email: string
  name?: string
}

/** Answered at once: the daemon is there. */
export interface Ping {
  op: "ping"
  id: string
}

/** One thing an agent has set out to do. */
export interface PlanItem {
  text: string
  state?: "active" | "done" | "dropped" | "pending"
}

/** The agent's plan changed. */
export interface PlanUpdated {
  type: "plan.updated"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  plan: PlanItem[]
}

/** A plugin. */
export interface Plugin {
  kind: string
  name: string
  place: string
  distribution?: string
  version?: string
  offers?: string[]
  error?: string
}

/** A plugin of Claude Code or an extension of gemini-cli: a folder of agents, skills, commands and hooks. */
export interface PluginBundle {
  name: string
  folder: string
  form?: "claude" | "codex" | "copilot" | "gemini" | "own"
  version?: string
  description?: string
  brings?: string[]
  unused?: string[]
}

/** The plugins that are installed. */
export interface Plugins {
  plugins: Plugin[]
  bundles?: PluginBundle[]
  notices?: string[]
}

/** The plugins. Every one is loaded, to tell which are broken. */
export interface PluginsList {
  op: "plugins.list"
  id: string
}

/** What would be decided about a call of a tool, and why. Nothing is run. */
export interface PolicyExplain {
  op: "policy.explain"
  id: string
  command: string
  cwd?: string
  mode?: "ask" | "auto" | "edits" | "full" | "plan" | null
  tool?: string
  template?: string
  role?: "" | "admin" | "member" | "viewer"
}

/** What would be decided, and why. */
export interface PolicyExplanation {
  mode: "ask" | "auto" | "edits" | "full" | "plan"
  ruling: Ruling
  steps: Ruling[]
  notices?: string[]
}

/** Whether all rules, built in and own, do what their examples say. */
export interface PolicyTest {
  op: "policy.test"
  id: string
  cwd?: string
}

/** Whether rules do what their examples say. */
export interface PolicyTested {
  checked: number
  failures?: RuleExample[]
  files?: string[]
  notices?: string[]
}

/** A provider that was tried and kept. */
export interface ProviderAdded {
  name: string
  models: string[]
  file: string
}

/** Another model is asked, because one did not answer. */
export interface ProviderFailedOver {
  type: "provider.failed_over"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  from_model: string
  to_model: string
  reason: string
}

/** A provider that could not be asked. */
export interface ProviderProblem {
  provider: string
  error: ErrorInfo
}

/** Set up a provider of one's own: it is asked for its models first, and kept only if it answers. Its address goes into the configuration, its key into the vault. */
export interface ProvidersAdd {
  op: "providers.add"
  id: string
  name: string
  base_url?: string
  kind?: "anthropic" | "azure" | "compatible" | "gemini" | "openai"
  key?: string
  replace?: boolean
}

/** Take a provider out of the person's own configuration, and its key out of the vault. */
export interface ProvidersRemove {
  op: "providers.remove"
  id: string
  name: string
}

/** An offline model or an extra is being installed; sent to the client that asked for it. */
export interface PullProgress {
  type: "models.progress"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  model: string
  stage: string
  done_bytes?: number
  total_bytes?: number
}

/** A pull request. */
export interface PullRequestOpened {
  url?: string
  branch?: string
  runs_outside?: Record<string, string>
}

/** What was pushed. */
export interface Pushed {
  branch: string
  remote: string
  commits?: number
}

/** Something the agent wants to know. */
export interface Question {
  id: string
  text: string
  choices?: string[]
  call_id?: string
  child?: string
  unattended?: string
}

/** Answer what an agent asked. */
export interface QuestionAnswer {
  op: "question.answer"
  id: string
  session: string
  question: string
  answer: string
}

/** The agent was answered. */
export interface QuestionAnswered {
  type: "question.answered"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  question_id: string
  answer: string
  by?: string
}

/** The agent wants to know something. */
export interface QuestionAsked {
  type: "question.asked"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  question: Question
  answerable?: boolean
}

/** What waits to be said. */
export interface Queue {
  queued: QueuedMessage[]
  held?: boolean
}

/** The messages that wait are these from here on: one was said, edited, removed or moved, or they are held back. */
export interface QueueChanged {
  type: "queue.changed"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  queued?: QueuedMessage[]
  held?: boolean
}

/** Say a waiting message in other words. */
export interface QueueEdit {
  op: "queue.edit"
  id: string
  session: string
  queued: string
  text?: string
  parts?: (TextPart | ImagePart)[]
}

/** Have a waiting message said earlier or later. */
export interface QueueMove {
  op: "queue.move"
  id: string
  session: string
  queued: string
  position?: number
}

/** Withdraw a waiting message. */
export interface QueueRemove {
  op: "queue.remove"
  id: string
  session: string
  queued: string
}

/** Go on with what waits since a turn was cancelled. The next message does so too, and is said before it. */
export interface QueueResume {
  op: "queue.resume"
  id: string
  session: string
}

/** The messages that wait. */
export interface QueueShow {
  op: "queue.show"
  id: string
  session: string
}

/** Accepted and stored, and waiting for the running turn to end. */
export interface QueuedMessage {
  id: string
  parts: (TextPart | ImagePart)[]
  created_at: number
  op_id?: string
}

/** What went to a provider and what came back. */
export interface RawExchange {
  request: string
  response: string
  truncated?: boolean
}

/** What unseals the keys in a backup. */
export interface RecoveryKey {
  key: string
}

/** The answer to one op, sent only to the client that asked. Its shape is what the op's class names. */
export interface Reply {
  type: "reply"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  result?: unknown
}

/** What a stretch of time came to. */
export interface Report {
  period: "day" | "month" | "week"
  since: number
  until: number
  total: UsageRow
  projected_month_usd: number
  parts: UsageRow[]
  turns: ReportTurns
  failures: ReportFailure[]
  tasks_done: string[]
  by_model: UsageRow[]
  by_template: UsageRow[]
  by_project: UsageRow[]
  by_person: UsageRow[]
  sessions?: number
  unpriced_month?: number
  other_agents?: UsageRow[] | null
}

/** What went wrong for one reason. */
export interface ReportFailure {
  cause: string
  turns?: number
  retried?: number
}

/** Send the report of the last day, week or month that is over to where the settings say. */
export interface ReportSend {
  op: "report.send"
  id: string
  period?: "day" | "month" | "week"
}

/** Where a report went. */
export interface ReportSent {
  places: string[]
}

/** What a day, a week or a month came to: tokens, money, durations, tasks, failures. */
export interface ReportShow {
  op: "report.show"
  id: string
  period?: "day" | "month" | "week"
  format?: "html" | "json" | "md"
  back?: number
  all_agents?: boolean
}

/** How turns went. */
export interface ReportTurns {
  ended?: number
  done?: number
  cancelled?: number
  failed?: number
  median_ms?: number
  slow_ms?: number
  total_ms?: number
}

/** A file that is not as it was committed last. */
export interface RepositoryFile {
  path: string
  status: "A" | "D" | "M" | "R" | "U"
  own?: boolean
  staged?: boolean
  old_path?: string
  runs_outside?: string
}

/** How the repository stands, and what can be done with it. */
export interface RepositoryState {
  problem?: string
  branch?: string
  head?: string
  base?: string
  remote?: string
  upstream?: string
  ahead?: number
  behind?: number
  doing?: string
  forge?: "" | "gh" | "glab"
  files?: RepositoryFile[]
  hooks?: string[]
  message?: string
  runs_outside?: Record<string, string>
}

export interface Results {
  hello: Welcome
  ping: Done
  "daemon.status": DaemonInfo
  "daemon.follow": Done
  "daemon.stop": Done
  "session.create": SessionInfo
  "session.list": SessionPage
  "session.get": SessionInfo
  "session.attach": Attached
  "session.detach": Done
  "session.update": SessionInfo
  "session.delete": Done
  "session.fork": SessionInfo
  "session.import": ImportedSession
  "message.send": Sent
  "turn.cancel": Cancelled
  "turn.retry": Sent
  "messages.page": MessagePage
  "message.raw": RawExchange
  "asks.list": PendingAsks
  "ask.again": Sent
  "permission.answer": Done
  "question.answer": Done
  "queue.show": Queue
  "queue.edit": Queue
  "queue.remove": Queue
  "queue.move": Queue
  "queue.resume": Queue
  "session.undo": Rewound
  "session.redo": Rewound
  "session.changes": Changes
  "review.show": Review
  "review.revert": Reverted
  "agents.list": AgentTree
  "flow.list": FlowList
  "flow.check": FlowInfo
  "flow.run": FlowRunning
  "flow.resume": FlowRunning
  "flow.show": FlowReport
  "tasks.list": TaskList
  "task.get": TaskInfo
  "task.create": TaskInfo
  "task.update": TaskInfo
  "task.delete": Done
  "task.log": TaskLog
  "task.note": TaskLogEntry
  "task.run": TaskInfo
  "task.follow": TaskInfo
  "task.stop": TaskInfo
  "tasks.import": TasksImported
  "tasks.sync": TasksSynced
  "folders.list": Folders
  "files.list": FileEntries
  "files.read": FileContent
  "files.write": FileWritten
  "terminal.open": TerminalOpened
  "terminal.input": Done
  "terminal.resize": Done
  "terminal.close": Done
  "messages.search": FoundMessages
  "context.show": ContextReport
  "context.collect": ContextProposal
  "context.pin": Done
  "context.restore": ContextGivenBack
  "tools.switch": Done
  "tools.list": ToolList
  "tool.run": ToolRan
  "mcp.list": McpServers
  "mcp.test": McpServers
  "mcp.add": Done
  "mcp.show": McpKept
  "mcp.remove": Done
  "mcp.switch": Done
  "mcp.import": McpImported
  "mcp.resources": McpResourceList
  "mcp.resource.read": McpResourceContents
  "mcp.prompts": McpPromptList
  "mcp.prompt.get": McpPromptMessages
  "mcp.login": LoginStarted
  "mcp.login.finish": Done
  "mcp.session.set": Done
  "mcp.logout": Done
  "mcp.catalog": McpCatalogue
  "templates.list": TemplateList
  "templates.get": TemplateInfo
  "templates.save": TemplateInfo
  "templates.remove": Done
  "templates.import": TemplateInfo
  "templates.export": TemplateText
  "templates.read": Template
  "templates.write": TemplateText
  "commands.list": SlashCommands
  "skills.list": Skills
  "skills.show": SkillContent
  "hooks.list": Hooks
  "hooks.test": HooksTried
  "plugins.list": Plugins
  "models.list": ModelEntries
  "models.test": ModelTests
  "models.pull": ModelPulled
  "auth.add": AuthEntry
  "auth.list": AuthEntries
  "auth.remove": Done
  "auth.login": LoginStarted
  "auth.login.finish": AuthEntry
  "auth.refresh": AuthEntry
  "keys.add": AuthEntry
  "keys.list": OwnKeys
  "keys.remove": Done
  "setup.show": SetupState
  "setup.look": ModelSources
  "setup.key": ModelChosen
  "setup.use": ModelChosen
  "setup.tour": Tour
  "providers.add": ProviderAdded
  "providers.remove": Done
  "config.show": ConfigList
  "config.describe": SettingTables
  "config.set": ConfigChanged
  "usage.failures": FailureReport
  "usage.report": UsageReport
  "metrics.agents": AgentsMetrics
  "metrics.cost": CostAnalysis
  "metrics.export": MetricsText
  "metrics.subscribe": Done
  "workspaces.list": WorkspaceCopies
  "workspaces.create": WorkspaceCopy
  "workspaces.diff": Changes
  "workspaces.merge": WorkspaceMerged
  "workspaces.remove": Done
  "workspaces.backup": WorkspaceBackup
  "workspaces.restore": WorkspaceBackup
  "workspaces.gc": WorkspacesCollected
  "index.watch": Done
  "index.build": IndexBuilt
  "index.search": CodeHits
  "index.symbols": CodeSymbols
  "index.map": CodeMap
  "index.status": IndexInfo
  "index.setup": IndexReady
  "trust.add": TrustEntry
  "trust.remove": Done
  "trust.decline": Done
  "trust.list": TrustEntries
  "policy.explain": PolicyExplanation
  "policy.test": PolicyTested
  "audit.list": AuditPage
  "grants.list": Grants
  "grants.revoke": Done
  "tokens.create": TokenCreated
  "tokens.list": TokenList
  "tokens.revoke": Done
  "web.login": LoginAddress
  "web.close": Done
  "people.me": Myself
  "people.list": People
  "people.add": Invited
  "people.invite": Invited
  "people.update": PersonInfo
  "people.remove": Done
  "teams.list": Teams
  "teams.create": TeamInfo
  "teams.update": TeamInfo
  "teams.remove": Done
  "session.share": Shared
  "session.join": SessionInfo
  "session.access": AccessTold
  "extras.list": ExtraInfos
  "extras.fetch": ExtraInfo
  "git.status": RepositoryState
  "git.commit": Committed
  "git.branch": Branched
  "git.push": Pushed
  "git.pull_request": PullRequestOpened
  "history.find": FoundHistory
  "history.import": ImportedHistory
  "usage.all": AllUsage
  "backup.create": BackupMade
  "backup.list": BackupList
  "backup.verify": BackupTried
  "backup.key": RecoveryKey
  "report.show": WrittenReport
  "report.send": ReportSent
}

/** A request failed and is sent again. */
export interface RetryScheduled {
  type: "retry.scheduled"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  provider: string
  attempt: number
  max_attempts: number
  delay_s: number
  error: ErrorInfo
}

/** A request that failed and waits to be sent again: what `retry.scheduled` told when it began to wait. */
export interface Retrying {
  provider: string
  attempt: number
  max_attempts: number
  delay_s: number
  error: ErrorInfo
  at: number
}

/** What a revert did. */
export interface Reverted {
  undo: string
  written?: string[]
  removed?: string[]
  merged?: string[]
  runs_outside?: Record<string, string>
}

/** What a session changed, as a whole and by turn, and what others changed since. */
export interface Review {
  files?: ReviewedFile[]
  turns?: ReviewedTurn[]
  others?: OthersChanges[]
  repository?: number[]
  missing?: string
}

/** Take back what a session did to one file, or some hunks of it. What others wrote stays; where that cannot be done nothing is changed. */
export interface ReviewRevert {
  op: "review.revert"
  id: string
  session: string
  path: string
  version: string
  turn?: number | null
  hunks?: number[]
}

/** Everything a session changed and did not take back, as a whole and by turn; apart from it what others changed. */
export interface ReviewShow {
  op: "review.show"
  id: string
  session: string
  turn?: number | null
  path?: string
}

/** A file that a session changed, and what names this very change of it. */
export interface ReviewedFile {
  file: ChangedFile
  version: string
}

/** What one turn changed, without what was taken back. */
export interface ReviewedTurn {
  turn: number
  files: ReviewedFile[]
}

/** What a rewind did. */
export interface Rewound {
  turn: number
  undo?: string
  written?: string[]
  removed?: string[]
  kept?: string[]
  git?: string
  others?: LeftAlone[]
  merged?: string[]
  stopped?: string[]
  beside?: string[]
  runs_outside?: Record<string, string>
}

/** An example of a rule that turns out otherwise. */
export interface RuleExample {
  rule: string
  command: string
  expected: boolean
  met: boolean
}

/** What was decided about a command, or about one simple command of it. */
export interface Ruling {
  command: string
  decision: "allow" | "ask" | "deny"
  risk: "high" | "low" | "medium"
  reason: string
  rule: string
}

/** A call that runs right now, and what it has printed. */
export interface RunningCall {
  call_id: string
  tool: string
  arguments?: Record<string, unknown>
  summary?: string
  started_at?: number
  output?: string
  dropped?: number
}

/** What became of a message that was sent. */
export interface Sent {
  session: string
  turn?: number
  message_number?: number
  queued?: string
  place?: number
}

/** A model of a server on this machine. */
export interface ServedModel {
  name: string
  note?: string
}

/** Who may open a session, and who has it open. */
export interface SessionAccess {
  op: "session.access"
  id: string
  session: string
}

/** Follow a session: a snapshot of it, or what was missed since, and then its events as they happen. */
export interface SessionAttach {
  op: "session.attach"
  id: string
  session: string
  after?: number | null
  messages?: number
}

/** What a session, or one turn of it, changed. What was taken back, and what others wrote, is no part of it. */
export interface SessionChanges {
  op: "session.changes"
  id: string
  session: string
  turn?: number | null
  since?: boolean
}

/** Create a session. */
export interface SessionCreate {
  op: "session.create"
  id: string
  session?: string
  name?: string
  cwd?: string
  repository?: string
  branch?: string
  parent?: string
  template?: string
  settings?: SettingsChange
}

/** A session was made. */
export interface SessionCreated {
  type: "session.created"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  info: SessionInfo
}

/** Stop a session and forget it. */
export interface SessionDelete {
  op: "session.delete"
  id: string
  session: string
}

/** A session is gone. */
export interface SessionDeleted {
  type: "session.deleted"
  session?: string
  seq?: number
  op_id?: string
  at?: number
}

/** Follow a session no longer. */
export interface SessionDetach {
  op: "session.detach"
  id: string
  session: string
}

/** Copy a session, so that the copy goes its own way. */
export interface SessionFork {
  op: "session.fork"
  id: string
  session: string
  through?: number | null
  name?: string
  cwd?: string
}

/** One session. */
export interface SessionGet {
  op: "session.get"
  id: string
  session: string
}

/** Make a session of a conversation that was had elsewhere, all of it or nothing. */
export interface SessionImport {
  op: "session.import"
  id: string
  cwd: string
  messages: Message[]
  origin?: string
  name?: string
  created_at?: number
  turns?: EndedTurn[]
  rewound?: [number, number][]
  usage?: SessionUsage | null
  settings?: SettingsChange
  again?: boolean
}

/** A session, without what was said in it. */
export interface SessionInfo {
  id: string
  name: string
  cwd: string
  created_at: number
  updated_at: number
  settings?: Settings
  model?: string
  status?: "error" | "executing_tool" | "idle" | "interrupted" | "thinking" | "unanswered" | "waiting_approval"
  message_count?: number
  turn_count?: number
  queued?: number
  held?: boolean
  place?: number
  usage?: SessionUsage
  below_usd?: number
  below_unpriced?: number
  cap_usd?: number | null
  cap_tokens?: number | null
  today?: DayBudget | null
  parent?: string | null
  forked_from?: string | null
  template?: string
  archived?: boolean
  origin?: Origin | null
  owner?: string
  team?: string
  seq?: number
}

/** Open a session that somebody shares by a link. */
export interface SessionJoin {
  op: "session.join"
  id: string
  link: string
}

/** List sessions, most recently active first. */
export interface SessionList {
  op: "session.list"
  id: string
  limit?: number
  before?: number | null
  before_id?: string
  cwd?: string
  query?: string
  roots?: boolean
  archived?: boolean | null
  brought?: boolean | null
  agent?: string
}

/** Some of the sessions. */
export interface SessionPage {
  sessions: SessionInfo[]
  next?: number | null
  brought?: Record<string, number>
}

/** Of several people with this session one came or left. */
export interface SessionPresence {
  type: "session.presence"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  who: string
}

/** Bring back what an undo or a revert took: files and conversation, but for what others did since. */
export interface SessionRedo {
  op: "session.redo"
  id: string
  session: string
  undo?: string
}

/** Share a session, and those that work for it, with one of your teams, or by a link with whoever has it. */
export interface SessionShare {
  op: "session.share"
  id: string
  session: string
  team?: string | null
  link?: "" | "read" | "write"
  expires_in?: number | null
  unlink?: boolean
}

/** Undo what a session wrote from a turn on. The conversation stays, unless it is asked for. `session.redo` brings everything back. */
export interface SessionUndo {
  op: "session.undo"
  id: string
  session: string
  turn: number
  paths?: string[]
  files?: boolean
  conversation?: boolean
  git_state?: boolean
  others?: "keep" | "overwrite"
}

/** Rename a session, put it away or change its settings. */
export interface SessionUpdate {
  op: "session.update"
  id: string
  session: string
  name?: string | null
  archived?: boolean | null
  settings?: SettingsChange
  template?: string | null
  expected?: string
}

/** A session's name or settings changed. */
export interface SessionUpdated {
  type: "session.updated"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  info: SessionInfo
}

/** What a session has used so far. */
export interface SessionUsage {
  tokens?: Usage
  cost_usd?: number
  requests?: number
  context_tokens?: number
  context_window?: number
  unpriced?: number
}

/** What there is to know of a setting before it is set. */
export interface SettingInfo {
  name: string
  about: string
  wanted: string
  kind: "choice" | "list" | "number" | "other" | "switch" | "table" | "text" | "whole"
  choices?: string[]
  lists?: boolean
  least?: number | null
  most?: number | null
  default?: unknown
  required?: boolean
  secret?: boolean
  at_start?: boolean
}

/** Settings that stand together. */
export interface SettingTable {
  name: string
  about: string
  settings: SettingInfo[]
  names?: string
  listed?: boolean
}

/** What can be set. */
export interface SettingTables {
  tables: SettingTable[]
}

/** What can be changed about a session at any time; it takes effect with the next step. */
export interface Settings {
  model?: string
  mode?: "ask" | "auto" | "edits" | "full" | "plan"
  max_steps?: number
  turn_timeout?: number | null
  max_output_tokens?: number | null
  temperature?: number | null
  thinking?: "high" | "low" | "medium" | "off" | null
  instructions?: string
  replace_prompt?: boolean
  disabled_tools?: string[]
  disabled_mcp_servers?: string[]
  tools?: string[] | null
  mcp_servers?: string[] | null
  collector?: string
  budget_usd?: number | null
  budget_tokens?: number | null
  label?: string
}

/** Only what is given changes. */
export interface SettingsChange {
  model?: string
  mode?: "ask" | "auto" | "edits" | "full" | "plan"
  max_steps?: number
  turn_timeout?: number | null
  max_output_tokens?: number | null
  temperature?: number | null
  thinking?: "high" | "low" | "medium" | "off" | null
  instructions?: string
  replace_prompt?: boolean
  disabled_tools?: string[]
  disabled_mcp_servers?: string[]
  tools?: string[] | null
  mcp_servers?: string[] | null
  collector?: string
  budget_usd?: number | null
  budget_tokens?: number | null
}

/** Try a key with one question that costs nothing, keep it in the vault if it is good, and let its provider answer from now on. A key that is refused is not kept, and the error says what the provider said. */
export interface SetupKey {
  op: "setup.key"
  id: string
  key: string
  provider?: string
}

/** Look for keys, for model servers on this machine's usual ports, and for what else could answer. */
export interface SetupLook {
  op: "setup.look"
  id: string
  cwd?: string
}

/** What would answer here, whether somebody chose it, and whether the folder is trusted. Asks nobody else. */
export interface SetupShow {
  op: "setup.show"
  id: string
  cwd?: string
}

/** How far this machine is set up. */
export interface SetupState {
  model?: string
  chosen?: boolean
  folder?: FolderTrust | null
}

/** Lay the guided tour's sample project into a new temporary folder. A session there, with its model, takes it. */
export interface SetupTour {
  op: "setup.tour"
  id: string
}

/** Let this answer from now on: it is tried first, then written into the configuration. */
export interface SetupUse {
  op: "setup.use"
  id: string
  provider: string
  model?: string
  url?: string
}

/** With whom a session is shared. */
export interface Shared {
  info: SessionInfo
  link?: string
}

/** The mode became stricter: commands find a shell in which no earlier one has defined or started anything. */
export interface ShellReplaced {
  type: "shell.replaced"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  mode: "ask" | "auto" | "edits" | "full" | "plan"
}

/** Something an agent can read up on when it needs it. */
export interface Skill {
  name: string
  description?: string
  origin?: "mcp" | "project" | "user"
  folder?: string
}

/** A skill with what it says. */
export interface SkillContent {
  skill: Skill
  body: string
  files?: string[]
}

/** One skill. */
export interface SkillShow {
  op: "skills.show"
  id: string
  name: string
  cwd?: string
}

/** The skills of a workspace. */
export interface Skills {
  skills: Skill[]
  notices?: string[]
}

/** The skills of a workspace. */
export interface SkillsList {
  op: "skills.list"
  id: string
  cwd?: string
}

/** A command that begins with a slash. */
export interface SlashCommand {
  name: string
  description?: string
  arguments?: string
  origin?: "mcp" | "project" | "user"
  source?: string
  model?: string
  allowed_tools?: string[]
}

/** The slash commands of a workspace. */
export interface SlashCommands {
  commands: SlashCommand[]
  notices?: string[]
}

/** All a client needs to show a session; the live tail starts right after `seq`. */
export interface Snapshot {
  info: SessionInfo
  seq: number
  messages?: Message[]
  has_more?: boolean
  turns?: EndedTurn[]
  rewound?: [number, number][]
  permissions?: PermissionAsk[]
  questions?: Question[]
  lapsed?: LapsedAsk[]
  plan?: PlanItem[]
  queued?: QueuedMessage[]
  held?: boolean
  live?: LiveAnswer | null
  running?: RunningCall[]
  retrying?: Retrying | null
  clients?: number
}

/** A session does something else now. */
export interface StatusChanged {
  type: "status"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  status: "error" | "executing_tool" | "idle" | "interrupted" | "thinking" | "unanswered" | "waiting_approval"
  detail?: string
}

/** A sub-agent ended. */
export interface SubagentFinished {
  type: "subagent.finished"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  child: string
  reason: "budget" | "cancelled" | "done" | "error" | "interrupted" | "loop" | "max_tokens" | "refused" | "step_limit" | "time_limit"
  template?: string
  text?: string
  changed?: string[]
  conflicts?: string[]
  copy?: string
  error?: ErrorInfo | null
  cost_usd?: number
  tokens?: number
  duration_ms?: number
}

/** How far a sub-agent is. */
export interface SubagentProgress {
  type: "subagent.progress"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  child: string
  template: string
  status: "error" | "executing_tool" | "idle" | "interrupted" | "thinking" | "unanswered" | "waiting_approval"
  detail?: string
  steps?: number
  cost_usd?: number
  tokens?: number
}

/** A sub-agent began. */
export interface SubagentStarted {
  type: "subagent.started"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  child: string
  template: string
  task: string
  model?: string
  call_id?: string
  background?: boolean
  copy?: string
}

/** Create a task, at the end of those of its state. */
export interface TaskCreate {
  op: "task.create"
  id: string
  title: string
  state?: "blocked" | "doing" | "done" | "todo"
  detail?: string
  owner?: string
  session?: string
  cwd?: string
  after?: string[]
  links?: string[]
}

/** Delete a task. */
export interface TaskDelete {
  op: "task.delete"
  id: string
  task: string
}

/** Look now at what became of a task's pull request, and not only when its time comes. */
export interface TaskFollow {
  op: "task.follow"
  id: string
  task: string
}

/** One task. */
export interface TaskGet {
  op: "task.get"
  id: string
  task: string
}

/** What happened with a task, the oldest first. */
export interface TaskHistory {
  op: "task.log"
  id: string
  task: string
}

/** A task. */
export interface TaskInfo {
  id: string
  title: string
  created_at: number
  updated_at: number
  state?: "blocked" | "doing" | "done" | "todo"
  detail?: string
  owner?: string
  session?: string
  cwd?: string
  position?: number
  after?: string[]
  waits_for?: string[]
  links?: string[]
  run?: TaskRunInfo | null
}

/** Tasks. */
export interface TaskList {
  tasks: TaskInfo[]
}

/** What happened with a task. */
export interface TaskLog {
  entries: TaskLogEntry[]
}

/** What happened with a task. */
export interface TaskLogEntry {
  at: number
  text: string
  by?: string
}

/** Write into a task's progress log. */
export interface TaskNote {
  op: "task.note"
  id: string
  task: string
  text: string
}

/** Give a task to an agent, in a copy of its workspace. What it does is committed to a branch of its own, pushed, and becomes a pull request that is followed until it is merged or closed. To send it is to say that this may be pushed. For a task that was given before: go on. */
export interface TaskRun {
  op: "task.run"
  id: string
  task: string
  template?: string
  base?: string
  draft?: boolean
}

/** A task's way to a pull request. */
export interface TaskRunInfo {
  state: "answering" | "closed" | "failed" | "merged" | "open" | "publishing" | "pushed" | "stopped" | "working"
  session: string
  branch: string
  base?: string
  template?: string
  url?: string
  commits?: number
  problem?: string
  runs_outside?: Record<string, string>
}

/** Stop what goes on with a task: its agent's turn, and following its pull request. Both stay as they are. */
export interface TaskStop {
  op: "task.stop"
  id: string
  task: string
}

/** Change a task. Only what is given changes; with a new state and no place it goes to the end of those of that state. */
export interface TaskUpdate {
  op: "task.update"
  id: string
  task: string
  title?: string
  state?: "blocked" | "doing" | "done" | "todo"
  detail?: string
  owner?: string
  session?: string
  cwd?: string
  position?: number
  after?: string[]
  links?: string[]
}

/** A task changed. */
export interface TaskUpdated {
  type: "task.updated"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  task: string
  title: string
  state: string
  owner?: string
  cwd?: string
}

/** Make tasks of the open issues of a workspace's forge, as `gh` or `glab` tells them. Those that are tasks already stay as they are. */
export interface TasksImport {
  op: "tasks.import"
  id: string
  cwd: string
  limit?: number
}

/** Issues of a forge that became tasks. */
export interface TasksImported {
  added: TaskInfo[]
  known: number
}

/** List tasks, by state and place. */
export interface TasksList {
  op: "tasks.list"
  id: string
  cwd?: string
  state?: "blocked" | "doing" | "done" | "todo" | null
}

/** Bring a workspace's tasks and its `docs/TASKS.md` together; what was changed on either side is kept. */
export interface TasksSync {
  op: "tasks.sync"
  id: string
  cwd: string
}

/** What a synchronization did. */
export interface TasksSynced {
  file: string
  tasks: number
  to_board?: number
  to_file?: number
  notes?: string[]
}

/** A team: a folder of its own, and sessions shared with all of it. */
export interface TeamInfo {
  id: string
  name: string
  folder?: string
  members?: string[]
  limits?: Limits
}

/** What its members are told of a team. */
export interface TeamName {
  id: string
  name: string
}

/** Teams. */
export interface Teams {
  teams: TeamInfo[]
}

/** A new team, with a folder of its own. */
export interface TeamsCreate {
  op: "teams.create"
  id: string
  name: string
}

/** The teams there are. */
export interface TeamsList {
  op: "teams.list"
  id: string
}

/** Dissolve a team. Its folder stays; what was shared with it is its owners' alone again. */
export interface TeamsRemove {
  op: "teams.remove"
  id: string
  team: string
}

/** Change who is in a team, or what it may use. */
export interface TeamsUpdate {
  op: "teams.update"
  id: string
  team: string
  add?: string[]
  remove?: string[]
  limits?: Limits
}

/** A saved persona. */
export interface Template {
  name: string
  description?: string
  role?: string
  prompt?: string
  replace_prompt?: boolean
  model?: string
  tools?: string[] | null
  disabled_tools?: string[]
  mcp_servers?: string[] | null
  mode?: "ask" | "auto" | "edits" | "full" | "plan" | null
  max_steps?: number | null
  timeout?: number | null
  budget_usd?: number | null
  label?: string
}

/** A template, and where it comes from. */
export interface TemplateInfo {
  template: Template
  source: "database" | "project" | "starter" | "user"
  file?: string
  writes?: boolean
  hides?: ("database" | "project" | "starter" | "user")[]
  notices?: string[]
}

/** Templates. */
export interface TemplateList {
  templates: TemplateInfo[]
  notices?: string[]
}

/** A template as a Markdown file with front matter. */
export interface TemplateText {
  name: string
  text: string
}

/** A template as a Markdown file. */
export interface TemplatesExport {
  op: "templates.export"
  id: string
  name: string
  cwd?: string
}

/** One template. */
export interface TemplatesGet {
  op: "templates.get"
  id: string
  name: string
  cwd?: string
}

/** Keep the template of a Markdown file in the database. */
export interface TemplatesImport {
  op: "templates.import"
  id: string
  text: string
  file?: string
  replace?: boolean
}

/** List agent templates. */
export interface TemplatesList {
  op: "templates.list"
  id: string
  cwd?: string
}

/** The template that the text of a Markdown file says, kept nowhere. */
export interface TemplatesRead {
  op: "templates.read"
  id: string
  text: string
  file?: string
}

/** Take a template out of the database. Files are left alone. */
export interface TemplatesRemove {
  op: "templates.remove"
  id: string
  name: string
  cwd?: string
}

/** Keep a template in the database. */
export interface TemplatesSave {
  op: "templates.save"
  id: string
  template: Template
  replace?: boolean
}

/** A template that is kept nowhere, as the text of a Markdown file. */
export interface TemplatesWrite {
  op: "templates.write"
  id: string
  template: Template
}

/** Close a terminal, and end what runs in it. */
export interface TerminalClose {
  op: "terminal.close"
  id: string
  terminal: string
}

/** A terminal ended. */
export interface TerminalExited {
  type: "terminal.exited"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  terminal: string
  exit_code?: number | null
}

/** Type into a terminal. */
export interface TerminalInput {
  op: "terminal.input"
  id: string
  terminal: string
  text: string
}

/** Open a terminal. One that is open already sends its output to this connection too, beginning with what is kept. */
export interface TerminalOpen {
  op: "terminal.open"
  id: string
  session: string
  terminal?: string
  columns?: number
  rows?: number
}

/** A terminal that is open. */
export interface TerminalOpened {
  terminal: string
  text?: string
}

/** To the connections that opened the terminal. */
export interface TerminalOutput {
  type: "terminal.output"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  terminal: string
  text: string
}

/** Tell a terminal its new size. */
export interface TerminalResize {
  op: "terminal.resize"
  id: string
  terminal: string
  columns: number
  rows: number
}

/** A piece of the answer that is being streamed. */
export interface TextDelta {
  type: "text.delta"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  message_number: number
  text: string
}

/** Plain words. */
export interface TextPart {
  type: "text"
  text: string
}

/** A piece of what the model thinks. */
export interface ThinkingDelta {
  type: "thinking.delta"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  message_number: number
  text: string
}

/** Reasoning a model showed. Its signature is only good for the provider format it came from. */
export interface ThinkingPart {
  type: "thinking"
  text: string
  signature?: string | null
  redacted?: string | null
  id?: string | null
  origin?: string | null
}

/** A new token. */
export interface TokenCreated {
  info: TokenInfo
  secret: string
}

/** A token, without its secret. */
export interface TokenInfo {
  id: string
  name: string
  scopes: ("admin" | "approve" | "chat" | "read")[]
  roots?: string[]
  kind?: "browser" | "token"
  created_at?: number
  last_used_at?: number | null
  expires_at?: number | null
  person?: string
}

/** Tokens. */
export interface TokenList {
  tokens: TokenInfo[]
}

/** A new token. Its secret is told once, in the answer, and kept as a hash. */
export interface TokensCreate {
  op: "tokens.create"
  id: string
  name: string
  scopes: ("admin" | "approve" | "chat" | "read")[]
  roots?: string[]
  expires_in?: number | null
  person?: string
}

/** The tokens, and the browsers that are logged in. */
export interface TokensList {
  op: "tokens.list"
  id: string
}

/** Revoke a token. At once: whoever is connected with it is cut off. */
export interface TokensRevoke {
  op: "tokens.revoke"
  id: string
  token: string
}

/** A tool that the model calls. */
export interface ToolCallPart {
  type: "tool_call"
  id: string
  name: string
  arguments?: Record<string, unknown>
  invalid_arguments?: string | null
  signature?: string | null
  origin?: string | null
}

/** A tool call ended. */
export interface ToolFinished {
  type: "tool.finished"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  call_id: string
  tool: string
  is_error?: boolean
  ended?: "denied" | "done" | "failed" | "interrupted" | "not_run" | "stopped"
  reason?: string
  subject?: string
  summary?: string
  duration_ms?: number
  exit_code?: number | null
}

/** A tool. */
export interface ToolInfo {
  name: string
  description: string
  parameters: Record<string, unknown>
  read_only?: boolean
  source?: string
  enabled?: boolean
}

/** Tools. */
export interface ToolList {
  tools: ToolInfo[]
}

/** A piece of what a running command prints. */
export interface ToolOutput {
  type: "tool.output"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  call_id: string
  stream?: "progress" | "stderr" | "stdout"
  text: string
}

/** What came of a tool that a person ran. */
export interface ToolRan {
  text: string
  is_error?: boolean
  display?: Display
}

/** What came of a tool call. */
export interface ToolResultPart {
  type: "tool_result"
  call_id: string
  name: string
  text: string
  is_error?: boolean
  ended?: "denied" | "done" | "failed" | "interrupted" | "not_run" | "stopped"
  reason?: string
  images?: ImagePart[]
  display?: Display
  duration_ms?: number
}

/** Run a tool as a person would: decided on, shown and audited like a model's call, but no part of the history. */
export interface ToolRun {
  op: "tool.run"
  id: string
  session: string
  tool: string
  arguments?: Record<string, unknown>
  call?: string
  apart?: boolean
}

/** A tool call began. */
export interface ToolStarted {
  type: "tool.started"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  call_id: string
  tool: string
  arguments?: Record<string, unknown>
  summary?: string
}

/** The tools a session has, or all there are. */
export interface ToolsList {
  op: "tools.list"
  id: string
  session?: string
}

/** Give agents a tool, or take it away: in one session from its next step on, or in all that start from now on. */
export interface ToolsSwitch {
  op: "tools.switch"
  id: string
  name: string
  on: boolean
  session?: string
}

/** A sample project, and what to say in it. */
export interface Tour {
  cwd: string
  model: string
  prompt: string
  label: string
}

/** Trust a folder: from now on its own settings and rules count, as they are at this moment. */
export interface TrustAdd {
  op: "trust.add"
  id: string
  cwd: string
}

/** Do not trust a folder, and do not ask about it again until something of it changes. */
export interface TrustDecline {
  op: "trust.decline"
  id: string
  cwd: string
}

/** The trusted folders. */
export interface TrustEntries {
  folders: TrustEntry[]
}

/** A folder whose own settings, rules, MCP servers and hooks count. */
export interface TrustEntry {
  folder: string
  at: number
  current?: boolean
  files?: string[]
}

/** Trust a folder no longer. */
export interface TrustRemove {
  op: "trust.remove"
  id: string
  folder: string
}

/** The trusted folders. */
export interface TrustShow {
  op: "trust.list"
  id: string
}

/** Stop the running turn, and what people run in the session themselves; or one of their calls alone. */
export interface TurnCancel {
  op: "turn.cancel"
  id: string
  session: string
  call?: string
}

/** A turn ended. */
export interface TurnCompleted {
  type: "turn.completed"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  turn: number
  reason: "budget" | "cancelled" | "done" | "error" | "interrupted" | "loop" | "max_tokens" | "refused" | "step_limit" | "time_limit"
  text?: string
  steps?: number
  usage?: Usage
  cost_usd?: number
  unpriced?: number
  duration_ms?: number
  by?: string
  error?: ErrorInfo | null
}

/** Retry now. A turn that waits for its provider sends its request at once; a newest turn that failed or was cut short continues where it stopped, with no message said and no call made a second time. */
export interface TurnRetry {
  op: "turn.retry"
  id: string
  session: string
}

/** A turn began. */
export interface TurnStarted {
  type: "turn.started"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  turn: number
  model?: string
}

/** As many turns run as may run at once: this session's next one waits, and has come to this place in line. */
export interface TurnWaiting {
  type: "turn.waiting"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  place: number
  waiting: number
  at_once?: number
  limit?: string
}

/** Tokens of one model request, or a sum of several. */
export interface Usage {
  input_tokens?: number
  output_tokens?: number
  cached_tokens?: number
  cache_write_tokens?: number
  reasoning_tokens?: number
  estimated?: boolean
}

/** What all agents on this machine cost, by the prices of each day: Claude Code, codex, gemini-cli, opencode, aider and goose beside OpenAgent. Files that are new are read first; nothing has to be imported for it. */
export interface UsageAll {
  op: "usage.all"
  id: string
  by?: "agent" | "day" | "model" | "month" | "project"
  agents?: string[]
  since?: number
  until?: number | null
  patience?: number
}

/** Tokens and money, summed up. */
export interface UsageAsk {
  op: "usage.report"
  id: string
  by?: "activity" | "day" | "model" | "session"
  since?: number
  until?: number | null
}

/** What went wrong, by day and kind of error. */
export interface UsageFailures {
  op: "usage.failures"
  id: string
  since?: number
  until?: number | null
}

/** What was used, summed up. */
export interface UsageReport {
  by: "activity" | "day" | "model" | "session"
  rows: UsageRow[]
  total: UsageRow
}

/** One line of the sums. */
export interface UsageRow {
  key: string
  requests: number
  usage: Usage
  cost_usd: number
  unpriced?: number
  cached_percent?: number
  latency_ms?: number
  slow_latency_ms?: number
}

/** A request was paid for. */
export interface UsageUpdated {
  type: "usage.updated"
  session?: string
  seq?: number
  op_id?: string
  at?: number
  usage: SessionUsage
  last?: Usage
  last_cost_usd?: number | null
  cache_miss?: string
}

/** Close the web interface, and keep it closed until somebody opens it again. */
export interface WebClose {
  op: "web.close"
  id: string
}

/** An address that logs one browser in, once, within a few minutes. */
export interface WebLogin {
  op: "web.login"
  id: string
  scopes?: ("admin" | "approve" | "chat" | "read")[]
  roots?: string[]
}

/** The daemon's first answer. */
export interface Welcome {
  protocol: string
  version: string
  pid: number
}

/** An archive of a workspace. */
export interface WorkspaceBackup {
  archive: string
  files: number
  left_out?: string[]
}

/** Copies of workspaces. */
export interface WorkspaceCopies {
  copies: WorkspaceCopy[]
}

/** A copy of a workspace. */
export interface WorkspaceCopy {
  id: string
  name: string
  origin: string
  path: string
  method: "copy" | "overlay" | "worktree"
  created_at: number
  left_out?: string[]
}

/** What a merge did. */
export interface WorkspaceMerged {
  applied?: string[]
  merged?: string[]
  conflicts?: MergeConflict[]
  before?: string
}

/** Pack a workspace into an archive. */
export interface WorkspacesBackup {
  op: "workspaces.backup"
  id: string
  cwd: string
  archive: string
}

/** Give back the space of checkpoints and copies that nobody needs any more. */
export interface WorkspacesCollect {
  op: "workspaces.gc"
  id: string
  keep?: number
}

/** What was given back. */
export interface WorkspacesCollected {
  checkpoints?: number
  stores?: number
  copies?: number
  freed_bytes?: number
}

/** Copy a workspace. */
export interface WorkspacesCreate {
  op: "workspaces.create"
  id: string
  cwd: string
  name: string
  method?: "copy" | "overlay" | "worktree" | null
  max_bytes?: number | null
  max_files?: number | null
}

/** What a copy has changed since it was made or last merged. */
export interface WorkspacesDiff {
  op: "workspaces.diff"
  id: string
  copy: string
}

/** List copies of workspaces. */
export interface WorkspacesList {
  op: "workspaces.list"
  id: string
  cwd?: string
}

/** Bring a copy's changes back into its origin. What both changed in one place stays as it is on both sides, unless it is settled. */
export interface WorkspacesMerge {
  op: "workspaces.merge"
  id: string
  copy: string
  settled?: MergeChoice[]
}

/** Remove a copy. */
export interface WorkspacesRemove {
  op: "workspaces.remove"
  id: string
  copy: string
  force?: boolean
}

/** Unpack a backup into a folder that does not exist yet or is empty. */
export interface WorkspacesRestore {
  op: "workspaces.restore"
  id: string
  archive: string
  to: string
}

/** A file that a call wrote. */
export interface WrittenFile {
  path: string
  bytes?: number
}

/** A report, as figures and as text. */
export interface WrittenReport {
  report: Report
  text: string
}

export interface Ops {
  "hello": Hello
  "ping": Ping
  "daemon.status": DaemonStatus
  "daemon.follow": DaemonFollow
  "daemon.stop": DaemonStop
  "session.create": SessionCreate
  "session.list": SessionList
  "session.get": SessionGet
  "session.attach": SessionAttach
  "session.detach": SessionDetach
  "session.update": SessionUpdate
  "session.delete": SessionDelete
  "session.fork": SessionFork
  "session.import": SessionImport
  "message.send": MessageSend
  "turn.cancel": TurnCancel
  "turn.retry": TurnRetry
  "messages.page": MessagesPage
  "message.raw": MessageRaw
  "asks.list": AsksList
  "ask.again": AskAgain
  "permission.answer": PermissionAnswer
  "question.answer": QuestionAnswer
  "queue.show": QueueShow
  "queue.edit": QueueEdit
  "queue.remove": QueueRemove
  "queue.move": QueueMove
  "queue.resume": QueueResume
  "session.undo": SessionUndo
  "session.redo": SessionRedo
  "session.changes": SessionChanges
  "review.show": ReviewShow
  "review.revert": ReviewRevert
  "agents.list": AgentsList
  "flow.list": FlowsList
  "flow.check": FlowCheck
  "flow.run": FlowRun
  "flow.resume": FlowResume
  "flow.show": FlowShow
  "tasks.list": TasksList
  "task.get": TaskGet
  "task.create": TaskCreate
  "task.update": TaskUpdate
  "task.delete": TaskDelete
  "task.log": TaskHistory
  "task.note": TaskNote
  "task.run": TaskRun
  "task.follow": TaskFollow
  "task.stop": TaskStop
  "tasks.import": TasksImport
  "tasks.sync": TasksSync
  "folders.list": FoldersList
  "files.list": FilesList
  "files.read": FilesRead
  "files.write": FilesWrite
  "terminal.open": TerminalOpen
  "terminal.input": TerminalInput
  "terminal.resize": TerminalResize
  "terminal.close": TerminalClose
  "messages.search": MessagesSearch
  "context.show": ContextShow
  "context.collect": ContextCollect
  "context.pin": ContextPin
  "context.restore": ContextRestore
  "tools.switch": ToolsSwitch
  "tools.list": ToolsList
  "tool.run": ToolRun
  "mcp.list": McpList
  "mcp.test": McpTest
  "mcp.add": McpAdd
  "mcp.show": McpShow
  "mcp.remove": McpRemove
  "mcp.switch": McpSwitch
  "mcp.import": McpImport
  "mcp.resources": McpResources
  "mcp.resource.read": McpResourceRead
  "mcp.prompts": McpPrompts
  "mcp.prompt.get": McpPromptGet
  "mcp.login": McpLogin
  "mcp.login.finish": McpLoginFinish
  "mcp.session.set": McpSessionServers
  "mcp.logout": McpLogout
  "mcp.catalog": McpCatalog
  "templates.list": TemplatesList
  "templates.get": TemplatesGet
  "templates.save": TemplatesSave
  "templates.remove": TemplatesRemove
  "templates.import": TemplatesImport
  "templates.export": TemplatesExport
  "templates.read": TemplatesRead
  "templates.write": TemplatesWrite
  "commands.list": CommandsList
  "skills.list": SkillsList
  "skills.show": SkillShow
  "hooks.list": HooksList
  "hooks.test": HooksTest
  "plugins.list": PluginsList
  "models.list": ModelsList
  "models.test": ModelsTest
  "models.pull": ModelsPull
  "auth.add": AuthAdd
  "auth.list": AuthList
  "auth.remove": AuthRemove
  "auth.login": AuthLogin
  "auth.login.finish": AuthLoginFinish
  "auth.refresh": AuthRefresh
  "keys.add": KeysAdd
  "keys.list": KeysList
  "keys.remove": KeysRemove
  "setup.show": SetupShow
  "setup.look": SetupLook
  "setup.key": SetupKey
  "setup.use": SetupUse
  "setup.tour": SetupTour
  "providers.add": ProvidersAdd
  "providers.remove": ProvidersRemove
  "config.show": ConfigShow
  "config.describe": ConfigDescribe
  "config.set": ConfigSet
  "usage.failures": UsageFailures
  "usage.report": UsageAsk
  "metrics.agents": MetricsAgents
  "metrics.cost": MetricsCost
  "metrics.export": MetricsExport
  "metrics.subscribe": MetricsSubscribe
  "workspaces.list": WorkspacesList
  "workspaces.create": WorkspacesCreate
  "workspaces.diff": WorkspacesDiff
  "workspaces.merge": WorkspacesMerge
  "workspaces.remove": WorkspacesRemove
  "workspaces.backup": WorkspacesBackup
  "workspaces.restore": WorkspacesRestore
  "workspaces.gc": WorkspacesCollect
  "index.watch": IndexWatch
  "index.build": IndexBuild
  "index.search": IndexSearch
  "index.symbols": IndexSymbols
  "index.map": IndexMap
  "index.status": IndexAsk
  "index.setup": IndexSetup
  "trust.add": TrustAdd
  "trust.remove": TrustRemove
  "trust.decline": TrustDecline
  "trust.list": TrustShow
  "policy.explain": PolicyExplain
  "policy.test": PolicyTest
  "audit.list": AuditAsk
  "grants.list": GrantsList
  "grants.revoke": GrantsRevoke
  "tokens.create": TokensCreate
  "tokens.list": TokensList
  "tokens.revoke": TokensRevoke
  "web.login": WebLogin
  "web.close": WebClose
  "people.me": PeopleMe
  "people.list": PeopleList
  "people.add": PeopleAdd
  "people.invite": PeopleInvite
  "people.update": PeopleUpdate
  "people.remove": PeopleRemove
  "teams.list": TeamsList
  "teams.create": TeamsCreate
  "teams.update": TeamsUpdate
  "teams.remove": TeamsRemove
  "session.share": SessionShare
  "session.join": SessionJoin
  "session.access": SessionAccess
  "extras.list": ExtrasList
  "extras.fetch": ExtrasFetch
  "git.status": GitStatus
  "git.commit": GitCommit
  "git.branch": GitBranch
  "git.push": GitPush
  "git.pull_request": GitPullRequest
  "history.find": HistoryFind
  "history.import": HistoryImport
  "usage.all": UsageAll
  "backup.create": BackupCreate
  "backup.list": BackupsList
  "backup.verify": BackupVerify
  "backup.key": BackupKey
  "report.show": ReportShow
  "report.send": ReportSend
}

export interface Events {
  "reply": Reply
  "failed": Failed
  "session.created": SessionCreated
  "session.updated": SessionUpdated
  "session.deleted": SessionDeleted
  "turn.started": TurnStarted
  "turn.completed": TurnCompleted
  "status": StatusChanged
  "text.delta": TextDelta
  "thinking.delta": ThinkingDelta
  "live.state": LiveState
  "message.added": MessageAdded
  "message.queued": MessageQueued
  "turn.waiting": TurnWaiting
  "session.presence": SessionPresence
  "queue.changed": QueueChanged
  "tool.started": ToolStarted
  "tool.output": ToolOutput
  "tool.finished": ToolFinished
  "permission.requested": PermissionRequested
  "permission.resolved": PermissionResolved
  "permission.noted": PermissionNoted
  "question.asked": QuestionAsked
  "question.answered": QuestionAnswered
  "asks.lapsed": AsksLapsed
  "plan.updated": PlanUpdated
  "usage.updated": UsageUpdated
  "budget.warning": BudgetWarning
  "budget.exceeded": BudgetExceeded
  "context.threshold": ContextThreshold
  "context.collected": ContextCollected
  "context.restored": ContextRestored
  "context.pinned": ContextPinned
  "context.shown": ContextShown
  "intent.detected": IntentDetected
  "retry.scheduled": RetryScheduled
  "provider.failed_over": ProviderFailedOver
  "model.routed": ModelRouted
  "login.required": LoginRequired
  "models.progress": PullProgress
  "index.progress": IndexProgress
  "index.updated": IndexUpdated
  "history.progress": HistoryProgress
  "history.imported": HistoryImported
  "subagent.started": SubagentStarted
  "subagent.progress": SubagentProgress
  "subagent.finished": SubagentFinished
  "flow.started": FlowStarted
  "flow.step": FlowStepped
  "flow.finished": FlowFinished
  "checkpoint.created": CheckpointCreated
  "checkpoint.restored": CheckpointRestored
  "mcp.status": McpServerStatus
  "mcp.late": McpServerLate
  "task.updated": TaskUpdated
  "background.started": BackgroundStarted
  "background.finished": BackgroundFinished
  "shell.replaced": ShellReplaced
  "terminal.output": TerminalOutput
  "terminal.exited": TerminalExited
  "metrics": Metrics
  "hook.ran": HookRan
  "error": ErrorRaised
  "connection.closing": ConnectionClosing
}

/** Events that are live only: they take no number of their own. */
export const LIVE_ONLY: ReadonlySet<string> = new Set(["connection.closing", "context.shown", "failed", "history.imported", "history.progress", "index.progress", "index.updated", "live.state", "mcp.status", "metrics", "models.progress", "reply", "session.deleted", "session.presence", "subagent.progress", "task.updated", "terminal.exited", "terminal.output", "text.delta", "thinking.delta", "tool.output", "turn.waiting"])
