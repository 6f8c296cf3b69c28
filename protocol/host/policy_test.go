package host

import (
	"testing"
	"time"
)

func TestPolicyIsCheckedWithTheTextsOfTheLog(t *testing.T) {
	good := Policy{Voters: 3, OfflineAfter: 5 * time.Second, ReplaceAfter: 10 * time.Minute,
		StableFor: 10 * time.Second, BalanceEvery: 5 * time.Minute, Copies: 2}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	const voters = " voters; 1, 3 or 5 are allowed, and 0 for as many as fit"
	for want, change := range map[string]func(*Policy){
		"":                              func(p *Policy) { p.Voters, p.ReplaceAfter, p.BalanceEvery = 0, 0, 0 },
		"2" + voters:                    func(p *Policy) { p.Voters = 2 },
		"18446744073709551615" + voters: func(p *Policy) { p.Voters = -1 },
		"offline after is 0; 1000 to 600000 are allowed":           func(p *Policy) { p.OfflineAfter = 0 },
		"replace after is 9999; 10000 to 2592000000 are allowed":   func(p *Policy) { p.ReplaceAfter = ms(9_999) },
		"stable for is 1099511627776; 1000 to 3600000 are allowed": func(p *Policy) { p.StableFor = ms(1 << 40) },
		"balance every is 1; 10000 to 86400000 are allowed":        func(p *Policy) { p.BalanceEvery = ms(1) },
		"max_replica_builds is 17; 1 to 16 are allowed":            func(p *Policy) { p.Copies = 17 },
		"hosts would be replaced before they are taken for failed": func(p *Policy) {
			p.OfflineAfter, p.ReplaceAfter = time.Minute, 10*time.Second
		},
	} {
		p, got := good, ""
		change(&p)
		if err := p.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, and %q is the text", p, got, want)
		}
	}
	const text = "voters 3, offline after 5000 ms, replace after 600000 ms, stable for 10000 ms, " +
		"balance every 300000 ms, 2 copies"
	if got := good.Text(); got != text {
		t.Errorf("the policy is %q in words", got)
	}
}
