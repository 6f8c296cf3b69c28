package meta

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// cfg is a config with a self-check period and a grace period in milliseconds.
func cfg(check, grace uint64) Config {
	return Config{SelfCheckPeriodMillis: check, SessionGracePeriodMillis: grace}
}

func TestAnEmptyConfigMeansTheDefaults(t *testing.T) {
	want := Config{
		SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 10_000,
		ReadConsistency: protocol.ConsistencyRelaxed, AttachConsistency: protocol.ConsistencyStrict,
		RateLimiterCountersMode: protocol.CountersAggregated, QuotaObjects: 1_000_000, QuotaBytes: 1 << 30,
		LongestWaitMillis: DefaultLongestWaitMillis,
	}
	if got := (Config{}).Effective(); got != want {
		t.Errorf("Effective() = %+v, want %+v", got, want)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	set := Config{
		SelfCheckPeriodMillis: 2000, SessionGracePeriodMillis: 15_000,
		ReadConsistency: protocol.ConsistencyStrict, AttachConsistency: protocol.ConsistencyRelaxed,
		RateLimiterCountersMode: protocol.CountersDetailed, QuotaObjects: 7, QuotaBytes: 2 << 20,
		LongestWaitMillis: 60_000,
	}
	if got := set.Effective(); got != set {
		t.Errorf("Effective() = %+v, want what was set, %+v", got, set)
	}
}

func TestConfigRules(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string // empty: allowed
	}{
		{cfg(500, 1000), ""},
		{cfg(10_000, 30_000), ""},
		{cfg(9_999, 0), ""},
		{cfg(0, 1001), ""},
		{cfg(999, 1000), ""},
		{cfg(499, 0), "self_check_period_ms is 499; 500 to 10000"},
		{cfg(10_001, 30_000), "self_check_period_ms is 10001"},
		{cfg(1<<63, 30_000), "self_check_period_ms is 9223372036854775808"},
		{cfg(500, 999), "session_grace_period_ms is 999; 1000 to 30000"},
		{cfg(0, 30_001), "session_grace_period_ms is 30001"},
		{cfg(1000, 1000), "session_grace_period_ms (1000) must be greater than self_check_period_ms (1000)"},
		{cfg(0, 1000), "(1000) must be greater than self_check_period_ms (1000)"},
		{cfg(10_000, 0), "(10000) must be greater than self_check_period_ms (10000)"},
		{cfg(5000, 4000), "must be greater"},
		{Config{ReadConsistency: 3}, "read_consistency 3"},
		{Config{AttachConsistency: 255}, "attach_consistency 255"},
		{Config{RateLimiterCountersMode: 3}, "rate_limiter_counters_mode 3"},
		{Config{QuotaObjects: 1, QuotaBytes: 1 << 20}, ""},
		{Config{QuotaObjects: 1_000_000, QuotaBytes: 1 << 40}, ""},
		{Config{QuotaObjects: 1_000_001}, "quota_objects is 1000001; 1 to 1000000"},
		{Config{QuotaBytes: 1<<20 - 1}, "quota_bytes is 1048575; 1048576 to 1099511627776"},
		{Config{QuotaBytes: 1<<40 + 1}, "quota_bytes is 1099511627777"},
	} {
		err := c.config.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v is refused: %v", c.config, err)
		case c.want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want an ErrConfig with %q", c.config, err, c.want)
		}
	}
}

// TestWhatWasAskedForGoesWithWhatIsSet: a field set without a requested value counts as requested.
func TestWhatWasAskedForGoesWithWhatIsSet(t *testing.T) {
	asked := func(check, grace, read uint64) protocol.AskedConfig {
		return protocol.AskedConfig{
			SelfCheckPeriodMillis: check, SessionGracePeriodMillis: grace, ReadConsistency: read,
		}
	}
	before := Config{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 2000, Asked: asked(10, 1000, 7)}
	for _, c := range []struct {
		name   string
		change Config
		want   protocol.AskedConfig
	}{
		{"nothing", Config{}, asked(10, 1000, 7)},
		{"a field", Config{SessionGracePeriodMillis: 3000}, asked(10, 0, 7)},
		{"a field with what was asked", Config{SelfCheckPeriodMillis: 500, Asked: asked(20, 0, 0)}, asked(20, 1000, 7)},
		{"what was asked alone", Config{Asked: asked(0, 1, 0)}, asked(10, 1, 7)},
		{"an enumeration", Config{ReadConsistency: protocol.ConsistencyStrict}, asked(10, 1000, 0)},
	} {
		if got := before.Merge(c.change).Asked; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if before.Effective().Asked != before.Asked {
		t.Error("the effective config has lost what was asked for")
	}
}

func TestMergeKeepsWhatIsNotSet(t *testing.T) {
	c := cfg(1234, 0)
	c = c.Merge(cfg(0, 5678))
	c = c.Merge(cfg(2345, 0))
	c = c.Merge(Config{ReadConsistency: protocol.ConsistencyStrict})
	c = c.Merge(Config{QuotaObjects: 5, QuotaBytes: 1 << 21})
	c = c.Merge(Config{QuotaObjects: 6})
	c = c.Merge(Config{})
	want := Config{
		SelfCheckPeriodMillis: 2345, SessionGracePeriodMillis: 5678, ReadConsistency: protocol.ConsistencyStrict,
		QuotaObjects: 6, QuotaBytes: 1 << 21,
	}
	if c != want {
		t.Errorf("the union is %+v, want %+v", c, want)
	}
}
