//! Origin buffers are borrowed until the epoch or batch ends.
use onesided::{Access, Group, Rank, Result, StartAssert, Window};

fn modified(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let mut buffer = vec![1; 4];
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    epoch.put(&buffer, Rank(0), 0)?;
    buffer[0] = 2; //~ E0502
    epoch.complete()?;
    Ok(())
}

fn moved(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let buffer = vec![1; 4];
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    epoch.put(&buffer, Rank(0), 0)?;
    let _elsewhere = buffer; //~ E0505
    epoch.complete()?;
    Ok(())
}

fn dropped(window: &mut Window<u64>, group: &Group) -> Result<()> {
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    {
        let buffer = vec![1; 4];
        epoch.put(&buffer, Rank(0), 0)?; //~ E0597 AccessEpoch
    }
    epoch.complete()?;
    Ok(())
}

fn read(window: &mut Window<u64>, group: &Group) -> Result<u64> {
    let mut buffer = vec![0; 4];
    let (mut access, _) = window.sides();
    let epoch = access.start(group)?;
    epoch.get(&mut buffer, Rank(0), 0)?;
    let early = buffer[0]; //~ E0502
    epoch.complete()?;
    Ok(early)
}

fn main() {}
