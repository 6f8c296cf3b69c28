package protocol

// What follows are the heads and rows of rollouts: in the pushes of watches of the kind ObjectRollout, and in the
// answers of RolloutDescribe. Each is an array of fields by itself.
//
//	part               head           rows, by id
//	""                 RolloutHead    RolloutLocation, id x 4; RolloutVersion, seq x 4 + 1
//	"location/NAME"    RolloutTarget  none
//	"instances/NAME"   InstanceCounts RolloutInstance, id x 4 + 2
//	"source"           SourceTicket   none
//	"history/NAME"     none           TargetRow, generation
//	"acts"             none           RolloutActRow, number
//	"version/SEQ"      RolloutVersion none
//
// The last three are described, not watched.

// Record is a head or a row of a view.
type Record interface {
	fields(c *codec)
}

// AppendRecord appends a record.
func AppendRecord(dst []byte, r Record) []byte {
	c := listCodecs.Get().(*codec)
	defer listCodecs.Put(c)
	c.startWriting(dst)
	outer := c.openArray()
	r.fields(c)
	c.closeArray(outer)
	return c.written()
}

// ReadRecord reads a record that is all of src. Its texts and bytes are views into src.
func ReadRecord(src []byte, r Record) error {
	c := listCodecs.Get().(*codec)
	defer func() {
		c.startReading(nil)
		listCodecs.Put(c)
	}()
	c.startReading(src)
	c.left = 1
	c.record("", r.fields)
	if c.err == nil && c.in.rest() > 0 {
		c.fail("", "bytes stand behind the record")
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// RolloutHead is the head of a whole rollout.
type RolloutHead struct {
	// Spec is what the rollout was made or altered with, without the locations, which are rows.
	Spec         RolloutSpec
	SpecRevision uint64
	LastSeq      uint64 // of the newest version there ever was
	Generation   uint64 // the last that was given to a target
	Paused       RolloutStop
	Halted       RolloutStop
	Sources      Labels // those that can be asked, by name
	// Declined is what the source said when it had no version last.
	Declined []byte
	LastAct  RolloutActRow
}

func (h *RolloutHead) fields(c *codec) {
	c.record("spec", h.Spec.fields)
	c.uint("spec_revision", &h.SpecRevision)
	c.uint("last_seq", &h.LastSeq)
	c.uint("generation", &h.Generation)
	c.record("paused", h.Paused.fields)
	c.record("halted", h.Halted.fields)
	h.Sources.list(c, "sources")
	c.text("declined", &h.Declined, MaxRolloutTextBytes)
	c.record("last_act", h.LastAct.fields)
}

// RolloutStop is why a rollout stands still.
type RolloutStop struct {
	Since  uint64 // moment; 0 where it does not
	Reason HaltReason
	// Location is where it halted by itself.
	Location []byte
	Author   []byte
	Text     []byte
}

func (s *RolloutStop) fields(c *codec) {
	c.uint("since", &s.Since)
	enum(c, "reason", &s.Reason)
	c.text("location", &s.Location, MaxWordBytes)
	c.text("author", &s.Author, MaxRolloutTextBytes)
	c.text("text", &s.Text, MaxRolloutTextBytes)
}

// HaltReason says why a rollout halted.
type HaltReason uint8

// The reasons of halts.
const (
	HaltNone        HaltReason = 0
	HaltReelections HaltReason = 1 // versions were given up too often in a row
	HaltDeadline    HaltReason = 2 // a target was not reached in time
	HaltAborted     HaltReason = 3 // an operator aborted
)

// String returns the reason as the docs write it.
func (h HaltReason) String() string {
	return nameOf(h, "HALT_REASON", "NONE", "REELECTIONS", "DEADLINE", "ABORTED")
}

// RolloutActRow is an act that was carried out.
type RolloutActRow struct {
	Number     uint64
	Moment     uint64
	WallMillis uint64
	Act        Act
}

func (r *RolloutActRow) fields(c *codec) {
	c.uint("number", &r.Number)
	c.uint("moment", &r.Moment)
	c.uint("wall_ms", &r.WallMillis)
	c.record("act", r.Act.fields)
}

// RolloutLocation is a location in the view of a whole rollout.
type RolloutLocation struct {
	Place uint64 // in the order, from 0 on
	Spec  LocationSpec
	// InheritedMillis is the delay of locations that were before it and have been removed; it adds to its own.
	InheritedMillis uint64
	// Target is the newest row of the location's history; its generation is 0 where there is none.
	Target   TargetRow
	Gates    RolloutGates
	Counts   InstanceCounts
	Bypassed bool
	// Back is the version that it goes back to as soon as those before it have; 0 is none.
	Back uint64
	// Stuck: the target is not reached for longer than the progress deadline.
	Stuck bool
	// Reelections counts targets that were given up in a row.
	Reelections uint64
}

func (l *RolloutLocation) fields(c *codec) {
	c.uint("place", &l.Place)
	c.record("spec", l.Spec.fields)
	c.uint("inherited_ms", &l.InheritedMillis)
	c.record("target", l.Target.fields)
	l.Gates.list(c, "gates")
	c.record("counts", l.Counts.fields)
	c.bool("bypassed", &l.Bypassed)
	c.uint("back", &l.Back)
	c.bool("stuck", &l.Stuck)
	c.uint("reelections", &l.Reelections)
}

// InstanceCounts says how many instances a location has, and how far they are.
type InstanceCounts struct {
	Instances uint64
	Leaders   uint64
	Reached   uint64 // leaders that have reached the target
	Failing   uint64 // instances that failed
}

func (i *InstanceCounts) fields(c *codec) {
	c.uint("instances", &i.Instances)
	c.uint("leaders", &i.Leaders)
	c.uint("reached", &i.Reached)
	c.uint("failing", &i.Failing)
}

// GateState is a gate of a location's target.
type GateState struct {
	Name    []byte
	Verdict Verdict
	By      []byte
	Text    []byte
	Since   uint64 // moment of the verdict
}

func (g *GateState) item(c *codec) { c.record("", g.fields) }

func (g *GateState) fields(c *codec) {
	c.text("name", &g.Name, MaxWordBytes)
	enum(c, "verdict", &g.Verdict)
	c.text("by", &g.By, MaxRolloutTextBytes)
	c.text("text", &g.Text, MaxRolloutTextBytes)
	c.uint("since", &g.Since)
}

// RolloutGates is a list of gates.
type RolloutGates = List[GateState, *GateState]

// TargetRow is one target in the history of a location. Assigned, Reached and Abandoned are moments.
type TargetRow struct {
	Seq        uint64
	Generation uint64
	Assigned   uint64
	Reached    uint64
	Abandoned  uint64
	Cause      TargetCause
	// Waived: an operator said that it counts as reached.
	Waived bool
	// Note is who or what assigned it, or gave it up.
	Note []byte
	// The moments by the wall clock.
	AssignedWallMillis  uint64
	ReachedWallMillis   uint64
	AbandonedWallMillis uint64
}

func (r *TargetRow) fields(c *codec) {
	c.uint("seq", &r.Seq)
	c.uint("generation", &r.Generation)
	c.uint("assigned", &r.Assigned)
	c.uint("reached", &r.Reached)
	c.uint("abandoned", &r.Abandoned)
	enum(c, "cause", &r.Cause)
	c.bool("waived", &r.Waived)
	c.text("note", &r.Note, MaxRolloutTextBytes)
	c.uint("assigned_wall_ms", &r.AssignedWallMillis)
	c.uint("reached_wall_ms", &r.ReachedWallMillis)
	c.uint("abandoned_wall_ms", &r.AbandonedWallMillis)
}

// TargetCause says why a location got a target.
type TargetCause uint8

// The causes of targets.
const (
	CauseUnknown    TargetCause = 0
	CauseBirth      TargetCause = 1 // its first
	CauseNext       TargetCause = 2 // the one before was reached
	CauseReelection TargetCause = 3 // instances could not use the one before
	CauseReplaced   TargetCause = 4 // the one before was aborted or withdrawn
	CausePromote    TargetCause = 5 // an operator's act, as are those below
	CauseRollback   TargetCause = 6
	CauseRetry      TargetCause = 7
)

// String returns the cause as the docs write it.
func (t TargetCause) String() string {
	return nameOf(t, "CAUSE", "UNKNOWN", "BIRTH", "NEXT", "REELECTION", "REPLACED", "PROMOTE", "ROLLBACK", "RETRY")
}

// RolloutVersion is a version. In the view of a whole rollout it has no payload.
type RolloutVersion struct {
	Seq          uint64
	Published    uint64 // moment
	WallMillis   uint64
	Withdrawn    bool
	PayloadBytes uint64
	Label        []byte
	Author       []byte
	Reason       []byte
	AbandonedIn  Words // locations in which it was given up
	Payload      []byte
}

func (v *RolloutVersion) fields(c *codec) {
	c.uint("seq", &v.Seq)
	c.uint("published", &v.Published)
	c.uint("wall_ms", &v.WallMillis)
	c.bool("withdrawn", &v.Withdrawn)
	c.uint("payload_bytes", &v.PayloadBytes)
	c.text("label", &v.Label, MaxRolloutTextBytes)
	c.text("author", &v.Author, MaxRolloutTextBytes)
	c.text("reason", &v.Reason, MaxRolloutTextBytes)
	v.AbandonedIn.list(c, "abandoned_in")
	c.bytes("payload", &v.Payload, MaxRolloutPayloadBytes)
}

// RolloutTarget is what the instances of a location are to bring into use.
type RolloutTarget struct {
	Generation uint64 // 0: the location has none yet
	Seq        uint64
	Label      []byte
	Payload    []byte
}

func (t *RolloutTarget) fields(c *codec) {
	c.uint("generation", &t.Generation)
	c.uint("seq", &t.Seq)
	c.text("label", &t.Label, MaxRolloutTextBytes)
	c.bytes("payload", &t.Payload, MaxRolloutPayloadBytes)
}

// RolloutInstance is an instance.
type RolloutInstance struct {
	Name       []byte
	SessionID  uint64
	Leader     bool
	Report     InstanceReport
	Since      uint64 // moment from which status and generation are these
	Sent       uint64 // the generation that it is known to have received
	Received   uint64 // moment of that
	Attributes []byte
}

func (i *RolloutInstance) fields(c *codec) {
	c.text("name", &i.Name, MaxRolloutTextBytes)
	c.uint("session_id", &i.SessionID)
	c.bool("leader", &i.Leader)
	c.record("report", i.Report.fields)
	c.uint("since", &i.Since)
	c.uint("sent", &i.Sent)
	c.uint("received", &i.Received)
	c.bytes("attributes", &i.Attributes, MaxRolloutAttributeBytes)
}

// SourceTicket is the question that is open to a source.
type SourceTicket struct {
	Ticket   uint64 // 0 where none is
	SourceID uint64
	Opened   uint64 // moment
}

func (s *SourceTicket) fields(c *codec) {
	c.uint("ticket", &s.Ticket)
	c.uint("source_id", &s.SourceID)
	c.uint("opened", &s.Opened)
}

// Label is a text for people as an item of a list.
type Label []byte

func (l *Label) item(c *codec) { c.text("", (*[]byte)(l), MaxRolloutTextBytes) }

// Labels is a list of texts for people.
type Labels = List[Label, *Label]
