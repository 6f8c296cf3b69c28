package meta

// Timing has the bounds for hosts while a change of a node's grace period or self-check period spreads. One host may
// already use the new periods while a second host still uses the old, so no host may trust that all hosts have its
// own config. At every moment, for any two hosts A and B however far they lag, the rule must hold
//
//	GraceCeilingMillis at A <= GraceFloorMillis at B
//
// because A answers for its sessions for as long as its ceiling allows, and B ends the sessions when its floor is
// over. DESIGN.md has the proof, and the further duties of a host.
type Timing struct {
	// Since is the config version of the last change of the effective grace period or self-check period. A
	// CmdGraceConfirmed for Since or a later version ends the change.
	Since uint64
	// GraceFloorMillis is the largest grace period in force since the last confirmed version: what expiry
	// must add at least.
	GraceFloorMillis uint64
	// GraceCeilingMillis is the smallest one: a read barrier proves a leader fresh for no longer.
	GraceCeilingMillis uint64
	// SelfCheckCeilingMillis is the smallest self-check period in force in the same time: a leader repeats its
	// barriers at least as often. The period is always below GraceCeilingMillis, so a leader stays fresh.
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

// altered returns the timing after the config of the version came into force. The bounds must cover all versions
// since the confirmed version, because hosts may still go by any of them.
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
