package settings

import (
	"cmp"
	"fmt"

	"github.com/signalbox/signalbox/server/memguard"
	"github.com/signalbox/signalbox/shard"
)

// available returns the memory the process may use, 0 if unknown.
var available = memguard.Available

// Memory returns the host's memory budget.
func (s *Settings) Memory() memguard.Budget { return memguard.Budget(s.MemoryLimit) }

// ShardQuota returns the byte quota per shard for the given number of shards.
func (s *Settings) ShardQuota(shards int) uint64 {
	return cmp.Or(uint64(s.ShardQuotaBytes), s.Memory().ShardBytes(shards, shard.DefaultShardBytes))
}

// ShardShare returns ShardQuota, or nil if the quota is set and does not depend on the number of shards.
func (s *Settings) ShardShare() func(shards int) uint64 {
	if s.ShardQuotaBytes != 0 {
		return nil
	}
	return s.ShardQuota
}

// ConnectionLimit returns the maximum number of client connections, given the number the file descriptor limit
// allows.
func (s *Settings) ConnectionLimit(files int) int {
	return cmp.Or(s.MaxConnections, min(files, s.Memory().Connections()))
}

// completeMemory fills the limits that are derived from the memory, except the shard quota: only the data directory
// knows the number of shards.
func (s *Settings) completeMemory() {
	s.MemoryLimit = cmp.Or(s.MemoryLimit, Size(available()))
	of := s.Memory()
	s.MaxOutputBuffer = cmp.Or(s.MaxOutputBuffer, Size(of.PendingBytes()))
	s.MaxInputBuffer = cmp.Or(s.MaxInputBuffer, Size(of.PartialBytes()))
	s.MaxWatchMemory = cmp.Or(s.MaxWatchMemory, Size(of.WatchBytes()))
}

// checkMemory rejects memory limits that are out of range, or that promise more memory than the host has.
func (c *checker) checkMemory() {
	s := c.settings
	has := available()
	switch {
	case s.MemoryLimit == 0 || c.rejected("memory-limit"):
	case has != 0 && uint64(s.MemoryLimit) > has:
		c.reject("memory-limit", c.subject("memory-limit", s.MemoryLimit.String())+" is more than the "+mebibytes(has)+
			" available to the host", "give less, or raise the container limit")
	case s.MemoryLimit < memguard.LeastMemory:
		c.reject("memory-limit", mebibytes(uint64(s.MemoryLimit))+" is too little for a host", "give "+
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
			continue // derived from the memory
		}
		inRange(c, limit.setting, limit.value, limit.least, 1<<40)
		if s.MemoryLimit != 0 && limit.value > s.MemoryLimit && !c.rejected(limit.setting, "memory-limit") {
			c.reject(limit.setting, c.subject(limit.setting, limit.value.String())+" is more than the "+
				mebibytes(uint64(s.MemoryLimit))+" of memory available to the host", "give less, or omit the setting")
		}
	}
}

// WarnMemory returns a warning, with figures, if the limits promise more memory than the host has; empty otherwise.
func (s *Settings) WarnMemory(shards int) string {
	promised := memguard.Promised(shards, s.ShardQuota(shards), uint64(s.MaxOutputBuffer), uint64(s.MaxInputBuffer),
		uint64(s.MaxWatchMemory))
	if high := s.Memory().HighMark(); s.MemoryLimit != 0 && promised > high {
		return fmt.Sprintf("the limits allow %s of memory, but the host has only %s for them: shard-quota-bytes "+
			"%s for each of %d shards, max-output-buffer %s, max-input-buffer %s, max-watch-memory %s; changes "+
			"are rejected when memory runs out",
			mebibytes(promised), mebibytes(high), mebibytes(s.ShardQuota(shards)), shards,
			mebibytes(uint64(s.MaxOutputBuffer)), mebibytes(uint64(s.MaxInputBuffer)),
			mebibytes(uint64(s.MaxWatchMemory)))
	}
	return ""
}

// mebibytes formats bytes for messages.
func mebibytes(bytes uint64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
