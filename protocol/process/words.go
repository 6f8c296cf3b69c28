package process

import "github.com/signalbox/signalbox/protocol/field"

// Every enum of processes stands here, with one table of words. docs/protocol.md has the words in capitals. Views of
// later versions may have numbers without a word here.

// ActionKind is what was done to a process.
type ActionKind uint8

// The kinds. An Action has ActionEvict or ActionRestart. The others are in the list of actions only: ActionCreated and
// ActionAltered stand for a Put, ActionFailed for a member.
const (
	ActionUnknown ActionKind = iota
	ActionCreated
	ActionAltered
	ActionEvict   // a member was put out; the session may join again
	ActionRestart // the round ended, and another epoch opened
	ActionFailed  // a member gave the round up
	ActionKinds   // the number of kinds
)

var actionWords = []string{"unknown", "created", "altered", "evict", "restart", "failed"}

// String returns the action in a word.
func (a ActionKind) String() string { return field.Word(a, "process action", actionWords) }

// OnTimeout says what becomes of a member that has not answered in time.
type OnTimeout uint8

// TimeoutWait waits on, and reasons name the member. TimeoutEvict evicts the member, and another epoch opens.
// TimeoutFail ends the exchange without the member.
const (
	TimeoutWait OnTimeout = iota
	TimeoutEvict
	TimeoutFail
	onTimeouts
)

var onTimeoutWords = []string{"wait", "evict", "fail"}

// String returns the setting in a word.
func (o OnTimeout) String() string { return field.Word(o, "on timeout", onTimeoutWords) }

// Phase is how the last epoch of a process is.
type Phase uint8

// The phases.
const (
	Forming   Phase = iota // without a round: no round has begun, or the last round is over
	Preparing              // an epoch opened, and not all of its members are prepared
	Running                // all members are prepared, and the coordinator coordinates
	Complete               // the coordinator has completed the round
	Phases                 // the number of phases
)

var phaseWords = []string{"forming", "preparing", "running", "complete"}

// String returns the phase in a word.
func (p Phase) String() string { return field.Word(p, "process state", phaseWords) }

// Audience says to which members of an epoch a request goes.
type Audience uint8

// A request goes to members that the request names, to all, or to all but the sender.
const (
	ToMembers Audience = iota
	ToAll
	ToOthers
	Audiences // the number of audiences
)

var audienceWords = []string{"members", "all", "others"}

// String returns the audience in a word.
func (a Audience) String() string { return field.Word(a, "audience", audienceWords) }

// ItemKind says what a member has to handle.
type ItemKind uint8

// The kinds of items.
const (
	ItemUnknown    ItemKind = iota
	ItemPrepare             // an epoch opened: confirm with PROCESS_PREPARE_ACK
	ItemCoordinate          // all are prepared, and this member coordinates
	ItemRequest             // a request: answer with PROCESS_REPLY
	ItemEnd                 // an exchange of this member ended: the replies, or a part of them
	ItemComplete            // the round is complete: confirm with PROCESS_COMPLETE_ACK
	ItemCancel              // the round is over without being complete, and so is each round before
	ItemKinds               // the number of kinds
)

var itemWords = []string{"unknown", "prepare", "coordinate", "request", "end", "complete", "cancel"}

// String returns the kind in a word.
func (k ItemKind) String() string { return field.Word(k, "item", itemWords) }

// Outcome is why an exchange ended.
type Outcome uint8

// The outcomes.
const (
	OutcomeOpen      Outcome = iota // the exchange has not ended
	OutcomeAll                      // all have replied
	OutcomeLate                     // some have not replied in time
	OutcomeCancelled                // the epoch is over, or the round complete
	Outcomes                        // the number of outcomes
)

var outcomeWords = []string{"open", "all", "late", "cancelled"}

// String returns the outcome in a word.
func (o Outcome) String() string { return field.Word(o, "outcome", outcomeWords) }

// The codes of reasons why a round does not move. Neither time nor the present members can end a reason that is marked
// as blocked.
const (
	ReasonNoMembers   = "no-members"        // blocked: no session has joined
	ReasonFewMembers  = "too-few-members"   // blocked: fewer members than an epoch has at the least
	ReasonNoCandidate = "no-candidate"      // blocked: no member may coordinate
	ReasonOpening     = "opening"           // members or the spec have changed: the next epoch opens in a moment
	ReasonPrepare     = "awaiting-prepare"  // members are not prepared
	ReasonReply       = "awaiting-reply"    // members have not replied to a request
	ReasonCoordinator = "coordinator"       // the coordinator has neither completed the round nor waits for replies
	ReasonComplete    = "awaiting-complete" // the round is complete, and members have not handled the completion
)
