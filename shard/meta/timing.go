package meta

// Timing has the bounds for hosts while a change to a node's grace period or self-check period spreads. One host may
// already use the new periods while a second host still uses the old ones, so a host must not assume that all hosts
// have its own config. At all times, for any two hosts A and B however far they lag, the rule must hold
//
//	GraceCeilingMillis at A <= GraceFloorMillis at B
//
// because A answers for its sessions for as long as its ceiling allows, and B ends the sessions when its floor is over.
// DESIGN.md has the proof, and a host's further obligations.
type Timing struct {
	// Since is the config version that last changed the effective grace period or self-check period. A
	// CmdGraceConfirmed for Since or a later version ends the change.
	Since uint64
	// GraceFloorMillis is the largest grace period in force since the last confirmed version: the minimum that expiry
	// must add.
	GraceFloorMillis uint64
	// GraceCeilingMillis is the smallest grace period in force since then: the longest time for which a read barrier
	// proves a leader fresh.
	GraceCeilingMillis uint64
	// SelfCheckCeilingMillis is the smallest self-check period in force since then: a leader repeats its barriers at
	// least as often. The period is always below GraceCeilingMillis, so a leader stays fresh.
	SelfCheckCeilingMillis uint64
}

// confirmedTiming is the timing for a config that all hosts use.
func confirmedTiming(since uint64, effective Config) Timing {
	return Timing{
		Since:                  since,
		GraceFloorMillis:       effective.SessionGracePeriodMillis,
		GraceCeilingMillis:     effective.SessionGracePeriodMillis,
		SelfCheckCeilingMillis: effective.SelfCheckPeriodMillis,
	}
}

// altered returns the timing after the version's config came into force. The bounds must cover all versions since the
// confirmed version, because hosts may still use any of them.
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
