package shard

import (
	"cmp"
	"strconv"

	"github.com/signalbox/signalbox/protocol/level"
)

// CommandRow describes a command kind.
type CommandRow struct {
	Name string // in logs and golden scripts
	// Timed is set if the command creates holdings, may grant ownership, or does something an object remembers, and so
	// has the proposal's Time as a field.
	Timed bool
	Of    ObjectKind // the object kind the command is for; zero for none
}

// Commands are all commands, by number. A row without a name is not a command.
var Commands = [256]CommandRow{
	CmdLead:           {Name: "lead"},
	CmdSessionCreate:  {Name: "session-create", Timed: true},
	CmdSessionUpdate:  {Name: "session-update"},
	CmdSessionEnd:     {Name: "session-end", Timed: true},
	CmdSessionsExpire: {Name: "sessions-expire", Timed: true},
	CmdSessionsForget: {Name: "sessions-forget", Timed: true},
	CmdNodeDrop:       {Name: "node-drop"},
	CmdLevel:          {Name: "level"},
	CmdDigestTake:     {Name: "digest-take"},
	CmdDigestCompare:  {Name: "digest-compare"},
	CmdContinue:       {Name: "continue", Timed: true},
	CmdNodeLimits:     {Name: "node-limits"},
	CmdDue:            {Name: "due", Timed: true},
	CmdSessionNumbers: {Name: "session-numbers"},
	CmdGroupWait:      {Name: "group-wait"},
	CmdSlotSeal:       {Name: "slot-seal"},
	CmdSlotOpen:       {Name: "slot-open"},
	CmdSlotRefuse:     {Name: "slot-refuse"},
	CmdSlotCancel:     {Name: "slot-cancel"},
	CmdSlotRelease:    {Name: "slot-release"},
	CmdSlotReturn:     {Name: "slot-return"},
	CmdSlotSupersede:  {Name: "slot-supersede"},

	CmdSemaphoreCreate: {Name: "semaphore-create", Of: KindSemaphore},
	CmdSemaphoreUpdate: {Name: "semaphore-update", Of: KindSemaphore},
	CmdSemaphoreDelete: {Name: "semaphore-delete", Of: KindSemaphore},
	CmdAcquire:         {Name: "acquire", Timed: true, Of: KindSemaphore},
	CmdRelease:         {Name: "release", Timed: true, Of: KindSemaphore},
	CmdSemaphoreResize: {Name: "semaphore-resize", Timed: true, Of: KindSemaphore},
	CmdWaiterWithdraw:  {Name: "waiter-withdraw", Timed: true},

	CmdRolloutPut:     {Name: "rollout-put", Timed: true, Of: KindRollout},
	CmdRolloutDelete:  {Name: "rollout-delete", Timed: true, Of: KindRollout},
	CmdRolloutPublish: {Name: "rollout-publish", Timed: true, Of: KindRollout},
	CmdRolloutSource:  {Name: "rollout-source", Timed: true, Of: KindRollout},
	CmdRolloutOffer:   {Name: "rollout-offer", Timed: true, Of: KindRollout},
	CmdRolloutJoin:    {Name: "rollout-join", Timed: true, Of: KindRollout},
	CmdRolloutLeave:   {Name: "rollout-leave", Timed: true, Of: KindRollout},
	CmdRolloutRole:    {Name: "rollout-role", Timed: true, Of: KindRollout},
	CmdRolloutReport:  {Name: "rollout-report", Timed: true, Of: KindRollout},
	CmdRolloutAsk:     {Name: "rollout-ask", Timed: true, Of: KindRollout},
	CmdRolloutAct:     {Name: "rollout-act", Timed: true, Of: KindRollout},
	CmdRolloutGate:    {Name: "rollout-gate", Timed: true, Of: KindRollout},

	CmdProcessPut:       {Name: "process-put", Timed: true, Of: KindProcess},
	CmdProcessDelete:    {Name: "process-delete", Timed: true, Of: KindProcess},
	CmdProcessJoin:      {Name: "process-join", Timed: true, Of: KindProcess},
	CmdProcessAct:       {Name: "process-act", Timed: true, Of: KindProcess},
	CmdProcessLeave:     {Name: "process-leave", Of: KindProcess},
	CmdProcessPrepared:  {Name: "process-prepared", Of: KindProcess},
	CmdProcessSend:      {Name: "process-send", Of: KindProcess},
	CmdProcessReply:     {Name: "process-reply", Of: KindProcess},
	CmdProcessComplete:  {Name: "process-complete", Timed: true, Of: KindProcess},
	CmdProcessCompleted: {Name: "process-completed", Of: KindProcess},
	CmdProcessFail:      {Name: "process-fail", Timed: true, Of: KindProcess},
	CmdInboxAck:         {Name: "inbox-ack", Of: KindProcess},
}

// String returns the kind's name in logs and golden scripts.
func (k CommandKind) String() string {
	return cmp.Or(Commands[k].Name, "command-"+strconv.Itoa(int(k)))
}

// TakesTime reports whether commands with this kind carry their proposal's Time.
func (k CommandKind) TakesTime() bool { return Commands[k].Timed }

// ObjectOf returns the object kind a command is for, zero for a command without an object.
func ObjectOf(k CommandKind) ObjectKind { return Commands[k].Of }

// unknown is above every level.
const unknown level.Level = 255

// LevelOf returns the lowest level at which a host may propose the command. A field, flag or command introduced by a
// later level raises the result.
func LevelOf(c *Command) level.Level {
	if Commands[c.Kind].Name == "" {
		return unknown
	}
	return level.First
}
