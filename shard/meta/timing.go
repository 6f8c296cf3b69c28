package meta

// Timing is what hosts go by while a change of a node's grace period or self-check period makes its way to all of them.
// One host may already use the new numbers while another still uses the old ones, so none may trust that the others
// have what it has. What must hold at every moment, for any two hosts A and B however far they lag, is
//
//	GraceCeilingMillis at A <= GraceFloorMillis at B
//
// because A answers for its sessions for as long as its ceiling allows, and B ends them when its floor
// is over. DESIGN.md has the proof, and what a host must do besides to make use of it.
type Timing struct {
	// Since is the config version at which the effective grace period or self-check period last
	// changed. A CmdGraceConfirmed for this version or a later one ends the change.
	Since uint64
	// GraceFloorMillis is the largest grace period in force since the last confirmed version: what expiry
	// must add at least.
	GraceFloorMillis uint64
	// GraceCeilingMillis is the smallest one: a read barrier proves a leader fresh for no longer.
	GraceCeilingMillis uint64
	// SelfCheckCeilingMillis is the smallest self-check period in force since then: a leader repeats its
	// barriers at least that often. It is always below GraceCeilingMillis, so a leader stays fresh.
	SelfCheckCeilingMillis uint64
}

// confirmedTiming is the timing of a config that all hosts go by.
func confirmedTiming(since uint64, effective Config) Timing {
	return Timing{
		Since:                  since,
		GraceFloorMillis:       effective.SessionGracePeriodMillis,
		GraceCeilingMillis:     effective.SessionGracePeriodMillis,
		SelfCheckCeilingMillis: effective.SelfCheckPeriodMillis,
	}
}

// altered returns the timing after the config of that version came into force. Nothing may be taken
// out of the bounds here: hosts may still go by any version since the confirmed one.
func (t Timing) altered(version uint64, before, after Config) Timing {
	if before.SessionGracePeriodMillis == after.SessionGracePeriodMillis &&
		before.SelfCheckPeriodMillis == after.SelfCheckPeriodMillis {
		return t
	}
	return Timing{
		Since:                  version,
		GraceFloorMillis:       max(t.GraceFloorMillis, after.SessionGracePeriodMillis),
		GraceCeilingMillis:     min(t.GraceCeilingMillis, after.SessionGracePeriodMillis),
		SelfCheckCeilingMillis: min(t.SelfCheckCeilingMillis, after.SelfCheckPeriodMillis),
	}
}
