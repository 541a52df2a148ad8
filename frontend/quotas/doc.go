// Package quotas counts what owners have unfinished at a frontend and refuses what would
// pass a quota. An owner's count is of its own jobs and of those of all owners below it, so
// the quota of a team bounds its members together.
package quotas
