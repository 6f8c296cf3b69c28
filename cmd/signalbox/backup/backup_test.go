package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// TestTheNewestBackupsOfASeriesStay: age is the timestamp in the file name. Other files are left alone.
func TestTheNewestBackupsOfASeriesStay(t *testing.T) {
	all := []string{"signalbox-20260101T000000Z.backup", "signalbox-20260101T010000Z.backup",
		"signalbox-20260201T000000Z.backup", "signalbox-20260201T000000Z.backup.1.partial", "signalbox.backup"}
	for keep, want := range map[int][]string{1: all[2:], 2: all[1:], 3: all, 9: all} {
		dir := t.TempDir()
		for _, name := range all {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&series{dir: dir, keep: keep}).prune(); err != nil {
			t.Fatal(err)
		}
		got, err := (&series{dir: dir}).list("*")
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of %d there are %v, want %v", keep, got, want)
		}
	}
}

// pieces counts the bytes written, and records the largest piece.
type pieces struct{ bytes, most int }

// Write implements io.Writer.
func (p *pieces) Write(b []byte) (int, error) {
	p.bytes, p.most = p.bytes+len(b), max(p.most, len(b))
	return len(b), nil
}

// TestABackupIsWrittenAtItsRate: the backup is written in pieces, and a pause is not made up for later.
func TestABackupIsWrittenAtItsRate(t *testing.T) {
	const second = 4 * cli.PieceBytes
	for _, c := range []struct {
		rate uint64
		want time.Duration
	}{{0, 0}, {second, 3 * time.Second}, {2 * second, 3 * time.Second / 2}} {
		synctest.Test(t, func(t *testing.T) {
			got := new(pieces)
			s := &steady{ctx: t.Context(), w: got, rate: c.rate}
			began := time.Now()
			for range 3 {
				time.Sleep(time.Minute)
				if n, err := s.Write(make([]byte, second+cli.PieceBytes)); n != second+cli.PieceBytes || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
			}
			if took := time.Since(began) - 3*time.Minute; took != c.want || got.most != cli.PieceBytes ||
				got.bytes != 3*(second+cli.PieceBytes) {
				t.Errorf("at %d: %v, want %v; %+v", c.rate, took, c.want, got)
			}
		})
	}
}

// TestABackupThatWaitsForItsRateCanBeEnded: at once, and with the cause.
func TestABackupThatWaitsForItsRateCanBeEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &steady{ctx: ctx, w: new(pieces), rate: 1}
	cancel(errNothingCame)
	if n, err := s.Write(make([]byte, 2*cli.PieceBytes)); n > cli.PieceBytes || !errors.Is(err, errNothingCame) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
