package settings

import (
	"cmp"
	"fmt"

	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/shard"
)

// available is how much memory this process may use, 0 for unknown.
var available = memguard.Available

// Memory is the memory of the host, divided among what it holds.
func (s *Settings) Memory() memguard.Budget { return memguard.Budget(s.MemoryLimit) }

// ShardQuota is the quota of bytes of each of so many shards.
func (s *Settings) ShardQuota(shards int) uint64 {
	return cmp.Or(uint64(s.ShardQuotaBytes), s.Memory().ShardBytes(shards, shard.DefaultShardBytes))
}

// ConnectionLimit is the largest number of client connections, given how many files allow.
func (s *Settings) ConnectionLimit(files int) int {
	return cmp.Or(s.MaxConnections, min(files, s.Memory().Connections()))
}

// completeMemory fills the limits that follow the memory, except the quota of shards: the data directory knows how many
// shards there are.
func (s *Settings) completeMemory() {
	s.MemoryLimit = cmp.Or(s.MemoryLimit, Size(available()))
	of := s.Memory()
	s.MaxOutputBuffer = cmp.Or(s.MaxOutputBuffer, Size(of.PendingBytes()))
	s.MaxInputBuffer = cmp.Or(s.MaxInputBuffer, Size(of.PartialBytes()))
	s.MaxWatchMemory = cmp.Or(s.MaxWatchMemory, Size(of.WatchBytes()))
}

// checkMemory refuses limits of memory that are out of bounds, and such as promise more than the host has.
func (c *checker) checkMemory() {
	s := c.settings
	has := available()
	switch {
	case s.MemoryLimit == 0 || c.rejected("memory-limit"):
	case has != 0 && uint64(s.MemoryLimit) > has:
		c.reject("memory-limit", c.subject("memory-limit", s.MemoryLimit.String())+" is more than the "+mebibytes(has)+
			" that this host may use", "give less, or raise the limit of the container")
	case s.MemoryLimit < memguard.LeastMemory:
		c.reject("memory-limit", mebibytes(uint64(s.MemoryLimit))+" are too little for a host", "give it "+
			mebibytes(memguard.LeastMemory)+" or more")
	}
	for _, limit := range []struct {
		setting string
		value   Size
		least   Size
	}{
		{"max-output-buffer", s.MaxOutputBuffer, 4 << 20},
		{"max-input-buffer", s.MaxInputBuffer, 8 << 20},
		{"max-watch-memory", s.MaxWatchMemory, 1 << 20},
		{"shard-quota-bytes", s.ShardQuotaBytes, 1 << 20},
	} {
		if limit.value == 0 {
			continue // it follows the memory
		}
		inRange(c, limit.setting, limit.value, limit.least, 1<<40)
		if s.MemoryLimit != 0 && limit.value > s.MemoryLimit && !c.rejected(limit.setting, "memory-limit") {
			c.reject(limit.setting, c.subject(limit.setting, limit.value.String())+" is more than the "+
				mebibytes(uint64(s.MemoryLimit))+" of memory that this host may use", "give less, or leave it out")
		}
	}
}

// WarnMemory returns a warning if the limits promise more memory than the host has, with the figures; empty otherwise.
func (s *Settings) WarnMemory(shards int) string {
	promised := memguard.Promised(shards, s.ShardQuota(shards), uint64(s.MaxOutputBuffer), uint64(s.MaxInputBuffer),
		uint64(s.MaxWatchMemory))
	if high := s.Memory().HighMark(); s.MemoryLimit != 0 && promised > high {
		return fmt.Sprintf("the limits promise %s of memory and the host has %s for it: shard-quota-bytes %s for "+
			"each of %d "+
			"shards, max-output-buffer %s, max-input-buffer %s, max-watch-memory %s; changes are refused when it "+
			"runs out",
			mebibytes(promised), mebibytes(high), mebibytes(s.ShardQuota(shards)), shards,
			mebibytes(uint64(s.MaxOutputBuffer)), mebibytes(uint64(s.MaxInputBuffer)),
			mebibytes(uint64(s.MaxWatchMemory)))
	}
	return ""
}

// mebibytes shows bytes to people.
func mebibytes(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
