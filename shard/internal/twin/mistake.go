package twin

// Mistake is something that a twin does wrong on purpose: a test that plants one shows that the comparison with the machine
// would notice it.
type Mistake uint8

const (
	// NoMistake: the twin does all as shard/DESIGN.md says.
	NoMistake Mistake = 0
	// CountsTimedOutWaiters: a waiter that is timed out counts in its node's quota of bytes for good.
	CountsTimedOutWaiters Mistake = 1
	// RefusesReleases: a node that holds more than its quota lets nobody release.
	RefusesReleases Mistake = 2
	// LimitsBelowLevel: quotas hold for commands of the levels before that of the rule too.
	LimitsBelowLevel Mistake = 3
	// ChargesShrinking: data that gets shorter is refused as data that gets longer is.
	ChargesShrinking Mistake = 4
)

// Plant makes the twin err from now on.
func (t *Twin) Plant(m Mistake) { t.mistake = m }
