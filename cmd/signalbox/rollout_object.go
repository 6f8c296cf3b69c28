package main

import (
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// rolloutObject is a rollout as it is printed. Fields that end with age_ms say how long ago something was, by the time
// of the shard.
type rolloutObject struct {
	Path       string           `json:"path"`
	Name       string           `json:"name"`
	Exists     bool             `json:"exists"`
	Revision   uint64           `json:"revision"`
	Phase      string           `json:"phase"`
	Newest     uint64           `json:"newest_version"`
	Label      string           `json:"newest_label"`
	Generation uint64           `json:"generation"`
	Paused     *stopObject      `json:"paused"`
	Halted     *stopObject      `json:"halted"`
	Locations  []locationObject `json:"locations"`
	Reasons    []reasonObject   `json:"reasons"`
	Sources    []string         `json:"sources"`
	Declined   string           `json:"declined"`
	LastAct    *actObject       `json:"last_act"`
	Spec       specObject       `json:"spec"`
}

// stopObject says since when a rollout stands still, and why.
type stopObject struct {
	AgeMS    int64  `json:"age_ms"`
	Reason   string `json:"reason"`
	Location string `json:"location"`
	Author   string `json:"author"`
	Text     string `json:"text"`
}

// locationObject is a location of a rollout.
type locationObject struct {
	Location    string        `json:"location"`
	State       string        `json:"state"`
	Target      *targetObject `json:"target"`
	Instances   int           `json:"instances"`
	Leaders     int           `json:"leaders"`
	Reached     int           `json:"reached"`
	Failing     int           `json:"failing"`
	Gates       []gateObject  `json:"gates"`
	Next        uint64        `json:"next_version"`
	NextMS      *int64        `json:"next_in_ms"`
	Back        uint64        `json:"back_to_version"`
	Bypassed    bool          `json:"bypassed"`
	Stuck       bool          `json:"stuck"`
	Reelections int           `json:"reelections"`
	InheritedMS int64         `json:"inherited_delay_ms"`
}

// targetObject is a target of a location. A moment that has not been is null, and its time by the wall clock of a host
// is left out where that is not known.
type targetObject struct {
	Version    uint64     `json:"version"`
	Label      string     `json:"label"`
	Generation uint64     `json:"generation"`
	Cause      string     `json:"cause"`
	Waived     bool       `json:"waived"`
	Note       string     `json:"note"`
	AssignedMS *int64     `json:"assigned_age_ms"`
	ReachedMS  *int64     `json:"reached_age_ms"`
	GivenUpMS  *int64     `json:"given_up_age_ms"`
	AssignedAt *time.Time `json:"assigned_at,omitempty"`
	ReachedAt  *time.Time `json:"reached_at,omitempty"`
	GivenUpAt  *time.Time `json:"given_up_at,omitempty"`
}

// historyObject is a target in the history of a location.
type historyObject struct {
	Location string `json:"location"`
	targetObject
}

// gateObject is a gate of a location's target.
type gateObject struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"`
	By      string `json:"by"`
	Text    string `json:"text"`
	AgeMS   *int64 `json:"age_ms"`
}

// reasonObject is why something does not move.
type reasonObject struct {
	Code     string   `json:"code"`
	Text     string   `json:"text"`
	Location string   `json:"location"`
	Blocked  bool     `json:"blocked"`
	Version  uint64   `json:"version"`
	Waiting  int      `json:"waiting"`
	Of       int      `json:"of"`
	Named    []string `json:"named"`
	AgeMS    *int64   `json:"age_ms"`
	EndsMS   *int64   `json:"ends_in_ms"`
}

// actObject is an act of an operator that was carried out.
type actObject struct {
	Number    uint64     `json:"number"`
	Act       string     `json:"act"`
	Locations []string   `json:"locations"`
	Version   uint64     `json:"version"`
	Fast      bool       `json:"fast"`
	Author    string     `json:"author"`
	Reason    string     `json:"reason"`
	AgeMS     int64      `json:"age_ms"`
	At        *time.Time `json:"at,omitempty"`
}

// instanceObject is an instance of a rollout.
type instanceObject struct {
	Location   string `json:"location"`
	Instance   string `json:"instance"`
	SessionID  cli.ID `json:"session_id"`
	Role       string `json:"role"`
	Status     string `json:"status"`
	Version    uint64 `json:"version"`
	Generation uint64 `json:"generation"`
	Heard      uint64 `json:"heard_of_generation"`
	Code       string `json:"code"`
	Text       string `json:"text"`
	Attempts   int    `json:"attempts"`
	AgeMS      *int64 `json:"age_ms"`
	cli.Payload
}

// versionObject is a version of a rollout.
type versionObject struct {
	Version   uint64     `json:"version"`
	Label     string     `json:"label"`
	Bytes     int        `json:"bytes"`
	Withdrawn bool       `json:"withdrawn"`
	GivenUpIn []string   `json:"given_up_in"`
	Author    string     `json:"author"`
	Reason    string     `json:"reason"`
	AgeMS     int64      `json:"age_ms"`
	At        *time.Time `json:"at,omitempty"`
}

// summaryObject is a rollout in a list.
type summaryObject struct {
	Path      string `json:"path"`
	Name      string `json:"name"`
	Revision  uint64 `json:"revision"`
	Phase     string `json:"phase"`
	Locations int    `json:"locations"`
	Reached   int    `json:"reached"`
	Instances int    `json:"instances"`
	Newest    uint64 `json:"newest_version"`
	Label     string `json:"newest_label"`
}

// stepObject is a step of a dry run.
type stepObject struct {
	InMS     int64  `json:"in_ms"`
	Location string `json:"location"`
	Version  uint64 `json:"version"`
	Cause    string `json:"cause"`
}

// specObject is what an operator has said of a rollout. The fields are the flags of rollout create.
type specObject struct {
	Revision          uint64               `json:"revision"`
	Locations         []specLocationObject `json:"locations"`
	DelayFrom         string               `json:"delay_from"`
	Source            string               `json:"source"`
	ReelectCodes      []string             `json:"reelect_codes"`
	ReelectAfterMS    int64                `json:"reelect_after_ms"`
	ReelectAttempts   int                  `json:"reelect_attempts"`
	ReelectIntervalMS int64                `json:"reelect_interval_ms"`
	ReelectMost       int                  `json:"reelect_most"`
	ProgressMS        int64                `json:"progress_deadline_ms"`
	HaltMS            int64                `json:"halt_deadline_ms"`
	Keep              int                  `json:"keep"`
	AskMS             int64                `json:"ask_interval_ms"`
}

// specLocationObject is what an operator has said of a location.
type specLocationObject struct {
	Location   string   `json:"location"`
	DelayMS    int64    `json:"delay_ms"`
	Require    int      `json:"require"`
	MaxFailing int      `json:"max_failing"`
	Gates      []string `json:"gates"`
}
