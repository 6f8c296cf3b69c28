package hub

import "github.com/signalbox/signalbox/shard"

// wants is what a watch asks for besides the semaphore's existence.
type wants uint8

const (
	wantsData   wants = 1 << 0
	wantsOwners wants = 1 << 1
	// wantings is how many different wants there are.
	wantings = 4
)

// everything is the flags of a change that may be of any sort.
const everything = shard.FlagData | shard.FlagOwners | shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit

func wantsOf(owners, data bool) wants {
	var w wants
	if data {
		w |= wantsData
	}
	if owners {
		w |= wantsOwners
	}
	return w
}

// flags are those of the changes that the watch is to be told.
func (w wants) flags() shard.EffectFlags {
	f := shard.FlagCreated | shard.FlagDeleted | shard.FlagLimit
	if w&wantsData != 0 {
		f |= shard.FlagData
	}
	if w&wantsOwners != 0 {
		f |= shard.FlagOwners
	}
	return f
}
