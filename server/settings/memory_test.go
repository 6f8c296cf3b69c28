package settings

import (
	"strings"
	"testing"
)

// withMemory sets the memory of the test's machine.
func withMemory(t *testing.T, bytes uint64) {
	t.Helper()
	before := available
	available = func() uint64 { return bytes }
	t.Cleanup(func() { available = before })
}

func loadWith(t *testing.T, lines ...string) (Settings, error) {
	t.Helper()
	return Load(Sources{Environment: append(lines, "SIGNALBOX_DATA_DIR="+t.TempDir())})
}

func TestLimitsOfMemoryFollowTheMemory(t *testing.T) {
	withMemory(t, 256<<20)
	s, err := loadWith(t)
	if err != nil {
		t.Fatal(err)
	}
	if s.MemoryLimit != 256<<20 || s.MaxOutputBuffer != 14<<20 || s.MaxWatchMemory != 14<<20 ||
		s.MaxInputBuffer != 8<<20 ||
		s.ShardQuota(1) != 56<<20 || s.ShardQuota(4) != 14<<20 || s.ConnectionLimit(1<<20) != 7168 ||
		s.ConnectionLimit(100) != 100 {
		t.Errorf("%+v, quota %d", s, s.ShardQuota(1))
	}
	if warning := s.WarnMemory(1); warning != "" {
		t.Error(warning)
	}
	half, err := loadWith(t, "SIGNALBOX_MEMORY_LIMIT=128MiB", "SIGNALBOX_MAX_CONNECTIONS=9",
		"SIGNALBOX_SHARD_QUOTA_BYTES=2MiB")
	if err != nil || half.MaxOutputBuffer != 6<<20 || half.ConnectionLimit(100) != 9 || half.ShardQuota(4) != 2<<20 {
		t.Errorf("%+v, %v", half, err)
	}
}

func TestLimitsThatPromiseMoreMemoryThanThereIsAreRefused(t *testing.T) {
	withMemory(t, 256<<20)
	for line, want := range map[string]string{
		"SIGNALBOX_MEMORY_LIMIT=1GiB":        "it is more than the 256 MiB available to the host",
		"SIGNALBOX_MEMORY_LIMIT=32MiB":       "32 MiB is too little for a host; give 64 MiB or more",
		"SIGNALBOX_SHARD_QUOTA_BYTES=4GiB":   "it is more than the 256 MiB of memory available to the host",
		"SIGNALBOX_MAX_WATCH_MEMORY=512MiB":  "it is more than the 256 MiB of memory available to the host",
		"SIGNALBOX_MAX_OUTPUT_BUFFER=512MiB": "it is more than the 256 MiB of memory available to the host",
		"SIGNALBOX_MAX_INPUT_BUFFER=512MiB":  "it is more than the 256 MiB of memory available to the host",
	} {
		if _, err := loadWith(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	withMemory(t, 40<<20)
	if _, err := loadWith(t); err == nil || !strings.Contains(err.Error(), "40 MiB is too little for a host") {
		t.Error(err)
	}
	withMemory(t, 0)
	if s, err := loadWith(t, "SIGNALBOX_SHARD_QUOTA_BYTES=4GiB"); err != nil || s.WarnMemory(64) != "" {
		t.Errorf("unknown memory: %v, %s", err, s.WarnMemory(64))
	}
}

func TestLimitsThatTogetherPromiseMoreMemoryThanThereIsAreWarnedOf(t *testing.T) {
	withMemory(t, 256<<20)
	s, err := loadWith(t, "SIGNALBOX_SHARD_QUOTA_BYTES=100MiB")
	if err != nil {
		t.Fatal(err)
	}
	want := "the limits allow 286 MiB of memory, but the host has only 168 MiB for them: shard-quota-bytes 100 " +
		"MiB for " +
		"each of 2 "
	if warning := s.WarnMemory(2); !strings.HasPrefix(warning, want) {
		t.Errorf("%q, want %q", warning, want)
	}
	if warning := s.WarnMemory(1); warning != "" {
		t.Error(warning)
	}
}
