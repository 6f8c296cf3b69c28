package history_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/test/history"
)

// restoredHistory is a history with a backup from 10 to 20, an old cluster until 30, and a new cluster from 40. Session
// 1 belongs to the old cluster, session 2 to the new one.
func restoredHistory() *history.History {
	acquired := func(session, order uint64, called history.Time) history.Operation {
		return history.Operation{Kind: history.Acquire, Semaphore: lock, Session: session, Count: 1, Called: called,
			Returned: called + 1, Outcome: history.Done, Order: order}
	}
	return &history.History{
		Restored: &history.Restoration{From: 10, To: 20, Down: 30, Up: 40, Saved: []history.Final{{Semaphore: lock,
			State: history.State{Exists: true, Limit: 1, Revision: 5, Owners: []history.Link{
				{Session: 1, Order: 7, Count: 1}}}}}},
		Operations: []history.Operation{
			{Kind: history.Create, Semaphore: lock, Limit: 1, Called: 1, Returned: 2, Outcome: history.Done},
			acquired(1, 7, 4), acquired(2, 1000, 50),
		},
		Sessions: []history.Session{
			{ID: 1, From: 3, To: 45, End: history.Expired}, {ID: 2, From: 42, To: history.Never},
		},
		Holds: []history.Hold{
			{Semaphore: lock, Session: 1, Order: 7, Count: 1, From: 5, To: 60},
			{Semaphore: lock, Session: 2, Order: 1000, Count: 1, From: 51, To: history.Never},
		},
		Writes: []history.Write{
			{Semaphore: lock, Order: 7, At: 25, Believed: true, Accepted: true},
			{Semaphore: lock, Order: 7, At: 45, Believed: true, Accepted: true},
			{Semaphore: lock, Order: 1000, At: 52, Believed: true, Accepted: true},
			{Semaphore: lock, Order: 7, At: 55, Believed: true}, // unaware of the new cluster
		},
		Views: []history.View{
			{Watcher: 1, Semaphore: lock, At: 6, State: history.State{Exists: true, Limit: 1, Revision: 5,
				Owners: []history.Link{{Session: 1, Order: 7, Count: 1}}}},
			{Watcher: 1, Semaphore: lock, At: 41, State: history.State{Exists: true, Limit: 1, Revision: 900}},
		},
		Finals: []history.Final{{Semaphore: lock, At: 70, State: history.State{Exists: true, Limit: 1, Revision: 901,
			Owners: []history.Link{{Session: 2, Order: 1000, Count: 1}}}}},
	}
}

// TestWhatARestoreMayDoIsNoFinding: old sessions end while clients still believe in them, and new sessions get their
// holdings.
func TestWhatARestoreMayDoIsNoFinding(t *testing.T) {
	h := restoredHistory()
	found, undecided := history.Check(h)
	if len(found) > 0 || len(undecided) > 0 {
		t.Errorf("%v %v", found, undecided)
	}
	var file bytes.Buffer
	if err := h.Save(&file); err != nil {
		t.Fatal(err)
	}
	if again, err := history.Load(&file); err != nil || again.Restored == nil || again.Restored.Up != 40 {
		t.Errorf("%v: %+v", err, again)
	}
}

// TestAWatcherOfWhatIsNotThereSeesNothingOfARestore: the semaphore is missing before the backup, in the backup, and
// afterwards.
func TestAWatcherOfWhatIsNotThereSeesNothingOfARestore(t *testing.T) {
	gone := history.Semaphore{Node: lock.Node, Name: "gone"}
	h := restoredHistory()
	h.Restored.Saved = append(h.Restored.Saved, history.Final{Semaphore: gone})
	h.Views = slices.Insert(h.Views, 1,
		history.View{Watcher: 2, Semaphore: gone, At: 7, State: history.State{Exists: true, Limit: 1, Revision: 6}},
		history.View{Watcher: 2, Semaphore: gone, At: 8, State: history.State{Revision: 8}})
	h.Operations = append(h.Operations,
		history.Operation{Kind: history.Create, Semaphore: gone, Limit: 1, Called: 6, Returned: 7,
			Outcome: history.Done},
		history.Operation{Kind: history.Delete, Semaphore: gone, Called: 7, Returned: 8, Outcome: history.Done})
	h.Finals = append(h.Finals, history.Final{Semaphore: gone, At: 70, Watchers: []int{2}})
	if found, _ := history.Check(h); len(found) > 0 {
		t.Errorf("%v", found)
	}

	// An old-cluster view is no excuse if the new cluster has a state to show.
	h.Finals[1].State = history.State{Exists: true, Limit: 1, Revision: 950}
	if found, _ := history.Check(h); !slices.ContainsFunc(found, func(f history.Finding) bool {
		return f.Rule == "watches"
	}) {
		t.Errorf("no finding of watches in %v", found)
	}
}

func TestWhatARestoreMayNotDoIsFound(t *testing.T) {
	for _, x := range []struct {
		name, want string
		spoil      func(*history.History)
	}{
		{"a token is given again", "order id 7", func(h *history.History) {
			h.Operations[2].Order, h.Holds[1].Order, h.Finals[0].State.Owners[0].Order = 7, 7, 7
		}},
		{"a revision goes back", "revision 5", func(h *history.History) { h.Views[1].State.Revision = 5 }},
		{"a watcher sees an older state", "watcher 1 saw revision 5", func(h *history.History) {
			h.Views[1].State = history.State{Revision: 4}
		}},
		{"a session is given again", "id of session 1", func(h *history.History) {
			h.Sessions = append(h.Sessions, history.Session{ID: 1, From: 44, To: history.Never})
		}},
		{"a session of before changes something", "old cluster has got an answer", func(h *history.History) {
			h.Operations = append(h.Operations, history.Operation{Kind: history.Release, Semaphore: lock, Session: 1,
				Called: 46, Returned: 47, Outcome: history.Done})
		}},
		{"the store takes an old token after a new one", "token 7 was accepted after 1000", func(h *history.History) {
			h.Writes[3].Accepted = true
		}},
		{"the backup shows what was not", "before the restore: /jobs lock", func(h *history.History) {
			h.Restored.Saved[0].State.Owners = nil
		}},
		{"what was in the backup is not there", "after the restore: /jobs lock", func(h *history.History) {
			h.Operations = append(h.Operations, history.Operation{Kind: history.Describe, Semaphore: lock, Called: 61,
				Returned: 62, Outcome: history.Done, Found: &history.State{}})
		}},
		{"a session of before owns in the end", "after the restore", func(h *history.History) {
			h.Finals[0].State.Owners[0] = history.Link{Session: 1, Order: 999, Count: 1}
		}},
		{"two of the new cluster hold it", "after the restore", func(h *history.History) {
			h.Sessions = append(h.Sessions, history.Session{ID: 3, From: 43, To: history.Never})
			h.Holds = append(h.Holds, history.Hold{Semaphore: lock, Session: 3, Order: 1001, Count: 1, From: 56,
				To: history.Never})
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := restoredHistory()
			x.spoil(h)
			found, _ := history.Check(h)
			for _, f := range found {
				if strings.Contains(f.String(), x.want) {
					return
				}
			}
			t.Errorf("no %q in %v", x.want, found)
		})
	}
}
