package process

import "github.com/signalbox/signalbox/protocol/field"

// Every enum of processes stands here, with one table of words. docs/protocol.md has the words in capitals. Views of
// later versions may have numbers without a word here.

// Verb is what was done to a process.
type Verb uint8

// The verbs. An Act has VerbKick or VerbRestart. The other verbs are in the list of acts only: VerbCreated and
// VerbAltered stand for a Put, VerbFailed for a member.
const (
	VerbUnknown Verb = iota
	VerbCreated
	VerbAltered
	VerbKick    // a member was put out; the session may join again
	VerbRestart // the round ended, and another epoch opened
	VerbFailed  // a member gave the round up
	Verbs       // the number of verbs
)

var verbWords = []string{"unknown", "created", "altered", "evict", "restart", "failed"}

// String returns the verb in a word.
func (v Verb) String() string { return field.Word(v, "process verb", verbWords) }

// OnTimeout says what becomes of a member that has not answered in time.
type OnTimeout uint8

// The member is waited for and named by reasons; or the member is kicked, and another epoch opens; or the exchange ends
// without the member.
const (
	TimeoutWait OnTimeout = iota
	TimeoutKick
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
	ItemPrepare             // an epoch opened: confirm with PROCESS_PREPARED
	ItemCoordinate          // all are prepared, and this member coordinates
	ItemRequest             // a request: answer with PROCESS_REPLY
	ItemEnd                 // an exchange of this member ended: the replies, or a part of them
	ItemComplete            // the round is complete: confirm with PROCESS_COMPLETED
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
	ReasonNoMembers   = "no-members"   // blocked: no session has joined
	ReasonFewMembers  = "few-members"  // blocked: fewer members than an epoch has at the least
	ReasonNoCandidate = "no-candidate" // blocked: no member may coordinate
	ReasonOpening     = "opening"      // members or the spec have changed: the next epoch opens in a moment
	ReasonPrepare     = "prepare"      // members are not prepared
	ReasonReply       = "reply"        // members have not replied to a request
	ReasonCoordinator = "coordinator"  // the coordinator has neither completed the round nor waits for replies
	ReasonComplete    = "complete"     // the round is complete, and members have not handled the completion
)
