package process

import "github.com/signalbox/signalbox/protocol/field"

// All process enums are here, each with one word table. docs/protocol.md has the words in capitals. Views from later
// versions may have numbers without a word here.

// ActionKind is what was done to a process.
type ActionKind uint8

// The kinds. An Action has ActionEvict or ActionRestart. The others appear only in the action list: ActionCreated and
// ActionAltered stand for a Put, ActionFailed for a member.
const (
	ActionUnknown ActionKind = iota
	ActionCreated
	ActionAltered
	ActionEvict   // a member was evicted; the session may join again
	ActionRestart // the round ended, and the next epoch opened
	ActionFailed  // a member failed the round
	ActionKinds   // the number of kinds
)

var actionWords = []string{"unknown", "created", "altered", "evict", "restart", "failed"}

// String returns the action as a word.
func (a ActionKind) String() string { return field.Word(a, "process action", actionWords) }

// OnTimeout is what happens to a member that has not answered in time.
type OnTimeout uint8

// TimeoutWait continues to wait, and reasons name the member. TimeoutEvict evicts the member, and the next epoch opens.
// TimeoutFail ends the exchange without the member.
const (
	TimeoutWait OnTimeout = iota
	TimeoutEvict
	TimeoutFail
	onTimeouts
)

var onTimeoutWords = []string{"wait", "evict", "fail"}

// String returns the setting as a word.
func (o OnTimeout) String() string { return field.Word(o, "on timeout", onTimeoutWords) }

// Phase is the state of a process's last epoch.
type Phase uint8

// The phases.
const (
	Forming   Phase = iota // no round: none has begun, or the last round is over
	Preparing              // an epoch opened, and some members are not prepared yet
	Running                // all members are prepared, and the coordinator coordinates
	Complete               // the coordinator has completed the round
	Phases                 // the number of phases
)

var phaseWords = []string{"forming", "preparing", "running", "complete"}

// String returns the phase as a word.
func (p Phase) String() string { return field.Word(p, "process state", phaseWords) }

// Audience selects the epoch members that get a request.
type Audience uint8

// A request goes to the named members, to all, or to all except the sender.
const (
	ToMembers Audience = iota
	ToAll
	ToOthers
	Audiences // the number of audiences
)

var audienceWords = []string{"members", "all", "others"}

// String returns the audience as a word.
func (a Audience) String() string { return field.Word(a, "audience", audienceWords) }

// ItemKind is what a member has to handle.
type ItemKind uint8

// The item kinds.
const (
	ItemUnknown    ItemKind = iota
	ItemPrepare             // an epoch opened: confirm with PROCESS_PREPARE_ACK
	ItemCoordinate          // all are prepared, and this member coordinates
	ItemRequest             // a request: answer with PROCESS_REPLY
	ItemEnd                 // this member's exchange ended: the replies, or part of them
	ItemComplete            // the round is complete: confirm with PROCESS_COMPLETE_ACK
	ItemCancel              // the round ended incomplete, as did each round before
	ItemKinds               // the number of kinds
)

var itemWords = []string{"unknown", "prepare", "coordinate", "request", "end", "complete", "cancel"}

// String returns the kind as a word.
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

// String returns the outcome as a word.
func (o Outcome) String() string { return field.Word(o, "outcome", outcomeWords) }

// Codes for the reasons why a round is stalled. Neither time nor the present members can end a reason marked as
// blocked.
const (
	ReasonNoMembers   = "no-members"        // blocked: no session has joined
	ReasonFewMembers  = "too-few-members"   // blocked: fewer members than an epoch requires
	ReasonNoCandidate = "no-candidate"      // blocked: no member may coordinate
	ReasonOpening     = "opening"           // members or the spec have changed: the next epoch opens shortly
	ReasonPrepare     = "awaiting-prepare"  // members are not prepared
	ReasonReply       = "awaiting-reply"    // members have not replied to a request
	ReasonCoordinator = "coordinator"       // the coordinator has not completed the round, and waits for no replies
	ReasonComplete    = "awaiting-complete" // the round is complete, and members have not handled the completion
)
